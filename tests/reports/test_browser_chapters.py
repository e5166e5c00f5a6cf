"""Chapters of a report on separate pages, in real, headless Chromium."""

import pytest

from bnnbench.reports.pages.report import page as pages_of
from tests.reports.browsing import broken_rules, folders, keep_suites, reported, settled

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The suites in `browsing`, on pages so small that tables move to further ones."""
    results, site = folders(tmp_path_factory)
    keep_suites(results)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pages_of, "LIMIT", 130_000)
        return reported(results, site)


@pytest.mark.parametrize("width", [390, 1400])
def test_chapters_on_pages_of_their_own_fit_and_lead_to_each_other_and_back(visit, site, width):
    page = visit("cifar10/report.html", width)
    addresses = page.evaluate("[...document.querySelectorAll('nav.further a')].map(a => a.href)")
    written = {path.as_uri() for path in (site / "cifar10").glob("*.html")}
    assert {page.url, *addresses} == written
    assert len(addresses) > 1
    opened = 0
    for address in addresses:
        page.goto(address)
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert broken_rules(page) == []
        others = page.evaluate("[...document.querySelectorAll('nav.further a')].map(a => a.href)")
        assert others == addresses
        assert page.locator("[aria-current=page]").evaluate("a => a.href") == address
        if page.locator("table.results").count():
            page.locator("button.cell >> visible=true").first.click()
            assert page.locator("dialog#runs tbody tr").count()
            opened += 1
            page.keyboard.press("Escape")
    assert opened
    page.locator(".home a").click()
    assert page.url == (site / "cifar10" / "report.html").as_uri()


def test_a_page_whose_runs_cannot_be_unpacked_says_so(browser, site):
    page = browser.new_page()
    page.add_init_script("delete globalThis.DecompressionStream")
    page.goto((site.parent / "results" / "cifar10" / "report.html").as_uri())
    assert "This browser cannot unpack" in settled(page).get_by_role("alert").inner_text()
    assert page.locator("button.cell").count() == 0
    assert page.locator("table.results").first.is_visible()
