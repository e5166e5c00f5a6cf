"""Pages in real, headless Chromium: they fit, are legible and safe, and can be printed."""

from urllib.parse import unquote, urlparse

import pytest

from bnnbench.reports.pages.layout import LIMIT
from tests.reports.browsing import CONTRAST, HOSTILE, SUITES

pytestmark = pytest.mark.long


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("width", [390, 820, 1400])
def test_the_page_never_scrolls_sideways(visit, suite, width):
    page = visit(suite, width)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [390, 820, 1400])
def test_the_list_of_suites_fits_and_its_links_lead_to_suites(visit, width):
    page = visit("suites.html", width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    links = page.evaluate("[...document.querySelectorAll('h2 a')].map(a => a.href)")
    assert len(links) == len(SUITES)
    page.goto(links[0])
    assert page.locator("h1").inner_text() == "CIFAR-10 benchmark"
    page.get_by_role("link", name="All suites").click()
    assert page.locator("h1").inner_text() == "Suites"


@pytest.mark.parametrize("suite", SUITES)
def test_ids_are_unique_and_links_lead_somewhere(visit, suite):
    page = visit(suite)
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    links = page.evaluate("[...document.querySelectorAll('nav a')].map(a => [a.href, a.hash])")
    assert links
    anchors = {hash[1:] for _, hash in links if hash}
    assert anchors <= set(ids)
    assert all(hash or unquote(urlparse(url).path).endswith(".html") for url, hash in links)


def test_hostile_names_are_text_and_nothing_else(visit):
    page = visit("hostile")
    assert page.evaluate("window.hit") is None
    assert page.evaluate("[...document.scripts].map(s => s.type)") == ["application/json", ""]
    assert page.evaluate("document.images.length") == 0
    shown = page.evaluate("document.body.textContent")
    assert all(name in shown for name in HOSTILE)
    assert "NaN" in shown
    assert "∞" in shown


def test_every_table_has_a_caption_and_named_headings(visit):
    page = visit("cifar10")
    assert page.evaluate("[...document.querySelectorAll('table')].every(t => t.caption)")
    assert page.evaluate("[...document.querySelectorAll('th')].every(t => t.scope)")
    assert page.evaluate(
        "[...document.querySelectorAll('figure svg:not([aria-hidden])')]"
        ".every(s => s.getAttribute('aria-label'))"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground_by_day_and_night(visit, scheme):
    page = visit("cifar10", color_scheme=scheme)
    assert page.evaluate(CONTRAST) >= 4.5


def test_every_page_is_small(site):
    sizes = {path.name: path.stat().st_size for path in site.rglob("*.html")}
    assert max(sizes.values()) <= LIMIT, sizes


def test_the_first_key_leads_past_the_header(visit):
    page = visit("cifar10")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the results"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0


def test_the_first_column_stays_while_a_wide_table_scrolls(visit):
    page = visit("cifar10", 390)
    scroll = page.locator(".scroll").first
    before = scroll.locator("tbody th").first.bounding_box()["x"]
    scroll.evaluate("e => e.scrollLeft = 200")
    assert scroll.evaluate("e => e.scrollLeft") == 200
    assert scroll.locator("tbody th").first.bounding_box()["x"] == pytest.approx(before, abs=1)


def test_a_printed_page_has_tables_and_no_controls(visit):
    page = visit("cifar10")
    page.emulate_media(media="print")
    assert (
        page.locator("nav, .tools, .chooser, .filter-place, .home").locator("visible=true").count()
        == 0
    )
    assert page.locator("table.results").first.is_visible()
    assert page.locator("body").evaluate("e => getComputedStyle(e).color") == "rgb(0, 0, 0)"
    assert len(page.pdf(format="A4")) > 10_000


def test_motion_is_kept_from_who_wants_none(visit):
    page = visit("cifar10", reduced_motion="reduce")
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"


@pytest.mark.parametrize("suite", ["cifar10", "uci"])
@pytest.mark.parametrize(("width", "height"), [(1400, 900), (390, 844)])
def test_the_first_figure_lies_within_the_first_screen(visit, suite, width, height):
    page = visit(suite, width)
    box = page.locator("main figure, .opening figure").first.bounding_box()
    assert box["y"] + min(box["height"], height / 2) <= height
