"""The how-to pages: built without a warning or scripts, and valid in a browser."""

import re
import subprocess
import sys

import pytest

from docs.generate.finished_runs import ROOT

pytestmark = pytest.mark.long


pytest.importorskip("mkdocs", reason="needs the extra docs")
PAGES = sorted(page.stem for page in (ROOT / "docs").glob("*.md"))
WIDTH = 390
"""The width of a telephone, in pixels."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built pages."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT, check=True,
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
