"""The switch between tables with and without twins in real, headless Chromium."""

import pytest

from tests.reports.browsing import folders, reported
from tests.reports.pages.report.test_twins import CUT, PLAIN, _runs
from tests.reports.synthetic import keep


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A set with twins, one without, and the deduplicated counterpart."""
    results, site = folders(tmp_path_factory)
    runs = _runs("wine", PLAIN, 1.0, twins=3)
    runs += _runs("yacht", {"type": "uci", "name": "yacht"}, 2.0)
    runs += _runs("wine-deduplicated", CUT, 4.0, profile="deduplicated")
    keep(results / "uci", runs)
    return reported(results, site)


def test_the_keyboard_switches_to_the_table_without_twins_and_back(visit):
    page = visit("uci")
    rows = page.get_by_label("Test rows").first
    first = page.locator("table.results:visible").first
    before = first.locator("tbody td").first.inner_text()
    rows.focus()
    page.keyboard.press("ArrowDown")
    assert rows.input_value() == "without twins in training"
    after = page.locator("table.results:visible").first.locator("tbody td").first.inner_text()
    assert before.startswith("1.")
    assert after.startswith("4.")
    assert page.get_by_text("3 of 10").first.is_visible()
    page.keyboard.press("ArrowUp")
    assert first.locator("tbody td").first.inner_text() == before


def test_without_a_script_both_tables_are_shown(visit):
    page = visit("uci", java_script_enabled=False)
    tables = page.locator("[data-rows] table.results")
    texts = tables.all_inner_texts()
    assert len(texts) >= 4
    assert page.get_by_label("Test rows").count() == 0
    assert tables.nth(0).is_visible()
    assert tables.nth(1).is_visible()


@pytest.mark.parametrize("width", [390, 1400])
def test_the_page_fits_the_window_with_either_table(visit, width):
    page = visit("uci", width)
    for _ in range(2):
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.get_by_label("Test rows").first.select_option("without twins in training")
