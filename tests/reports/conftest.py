"""Pages in real, headless Chromium."""

import pytest

from bnnbench.reports.write.cli import main
from tests.reports.browsing import keep_suites, settled


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """Reports of the suites in `browsing`."""
    results, site = tmp_path_factory.mktemp("results"), tmp_path_factory.mktemp("site")
    keep_suites(results)
    assert main([str(results), "--out", str(site)]) in (0, 3)
    return site


@pytest.fixture
def visit(browser, site):
    """Open a page of the site; afterwards nothing may have gone wrong or out."""
    complaints, requests, contexts = [], [], []

    def opened(name, width=1400, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(8000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        path = site / name
        page.goto((path if path.suffix == ".html" else path / "report.html").as_uri())
        return settled(page)

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert all(url.endswith(".html") for url in requests if url.startswith("file:"))
