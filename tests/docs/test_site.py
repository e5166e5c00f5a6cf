"""The how-to pages: built without a warning or scripts, and valid in a browser."""

import functools
import http.server
import os
import re
import subprocess
import sys
import threading

import pytest

from docs.generate.finished_runs import ROOT

pytestmark = pytest.mark.long


pytest.importorskip("mkdocs", reason="needs the extra docs")
PAGES = sorted(page.stem for page in (ROOT / "docs").glob("*.md"))
REPOSITORY = "https://code.example/somebody/bnnbench"
WIDTH = 390
"""The width of a telephone, in pixels."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built pages."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT, check=True, env=os.environ | {"BNNBENCH_REPOSITORY": REPOSITORY},
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def tab(browser):
    """A browser's tab without a network."""
    context = browser.new_context(viewport={"width": WIDTH, "height": 844}, offline=True)
    yield context.new_page()
    context.close()


def test_the_site_has_every_page(site):
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert sorted(re.findall(r": (\w+)\.md$", navigation, re.MULTILINE)) == PAGES
    assert all((site / f"{name}.html").exists() for name in PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_runs_no_script_and_asks_for_nothing(site, name):
    html = (site / f"{name}.html").read_text(encoding="utf-8")
    assert "<script" not in html
    assert not re.search(r'(?:src|srcset)="(?:https?:)?//|<link|@import|url\(', html)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_in_a_browser(site, tab, name):
    asked, errors = [], []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("console", lambda message: errors.append(message.text))
    tab.goto((site / f"{name}.html").as_uri())
    assert errors == []
    assert all(url.startswith(site.as_uri()) for url in asked)
    assert tab.evaluate("document.documentElement.scrollWidth") <= WIDTH
    assert tab.evaluate("[...document.images].every(image => image.naturalWidth > 0)")
    text = tab.inner_text("main")
    assert "$$" not in text
    assert not re.search(r"formula\d+here|\\(?:sum|frac|arg|log|qquad)", text)


@pytest.fixture(params=["served", "from the disk"])
def address(site, request):
    """The address of the pages, with a server and without."""
    if request.param == "from the disk":
        yield site.as_uri()
        return
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_search_finds_the_sections_with_all_words(site, browser, address):
    tab = browser.new_page(viewport={"width": WIDTH, "height": 844})
    errors = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda message: errors.append(message.text))
    tab.goto(f"{address}/hosting.html")
    tab.fill("header [name=q]", "forged predictions")
    tab.press("header [name=q]", "Enter")
    tab.wait_for_url("**/search.html?q=*")
    assert "with all of these words" in tab.inner_text("#count")
    links = tab.eval_on_selector_all("#found a", "links => links.map(link => link.href)")
    assert f"{address}/hosting.html#other-peoples-runs" in links
    assert tab.evaluate("document.documentElement.scrollWidth") <= WIDTH
    tab.goto(f"{address}/search.html?q=%3Cimg+onerror%3D1%3E+nosuchword")
    assert tab.inner_text("#count").startswith("0 sections")
    assert [error for error in errors if "favicon" not in error and "404" not in error] == []


def test_pages_name_the_repository_that_the_environment_has(site):
    assert f"git clone {REPOSITORY}" in (site / "contributing.html").read_text("utf-8")
    assert f'href="{REPOSITORY}"' in (site / "index.html").read_text("utf-8")
