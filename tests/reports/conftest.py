"""Pages in real, headless Chromium."""

import pytest

from tests.reports.browsing import folders, keep_suites, reported, settled


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """Reports of the suites in `browsing`."""
    results, site = folders(tmp_path_factory)
    keep_suites(results)
    return reported(results, site)


@pytest.fixture
def visit(browser, site):
    """Open a suite's report, or a page of the site; fail on errors and on external requests."""
    complaints, requests, contexts = [], [], []

    def opened(name, width=1400, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(8000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        report = site.parent / "results" / name / "report.html"
        page.goto((site / name if name.endswith(".html") else report).as_uri())
        return settled(page)

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert all(url.endswith(".html") for url in requests if url.startswith("file:"))
