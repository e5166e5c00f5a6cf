"""Timings, data health and decision regions in real, headless Chromium."""

import pytest

from tests.reports.browsing import folders, reported
from tests.reports.read.test_health import SOUND
from tests.reports.read.test_timings import HOSTILE, SESSION, entry, of_method, written
from tests.reports.sections.suites.test_regions import SUITE, command
from tests.reports.synthetic import keep, record

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Regions over a plane, data with twins, and two sessions of timings with hostile names."""
    results, site = folders(tmp_path_factory)
    arguments = ["--out", str(results), "--no-report", "--executor", "serial", "--in-process"]
    assert command({"quick": SUITE}, arguments) == 0
    odd = SOUND | {"test_twins": 3, "transforms": [HOSTILE]}
    keep(results / "uci", [record(suite="uci", facts=odd)])
    slow = [*SESSION[:2], of_method("ivon", "fit", 6.0), *SESSION[3:], entry(HOSTILE, 1.0)]
    written(results / "benchmark.json", slow)
    written(results / "benchmark_previous.json", SESSION)
    return reported(results, site)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("name", ["timing.html", "moons/report.html", "uci/report.html"])
def test_pages_fit_the_window(visit, name, width, scheme):
    page = visit(name, width, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("window.hit") is None


def test_a_wide_figure_keeps_the_size_of_its_lettering_on_a_phone(visit):
    page = visit("timing.html", 390)
    scroll = page.locator(".ranks .scroll").first
    assert scroll.locator("svg").bounding_box()["width"] >= 480
    assert scroll.bounding_box()["width"] <= 390
    assert scroll.get_attribute("tabindex") == "0"
    heights = scroll.locator("text").evaluate_all(
        "texts => texts.map(text => text.getBoundingClientRect().height)"
    )
    assert min(heights) >= 9


def test_the_list_of_suites_leads_to_the_timings_and_back(visit):
    page = visit("suites.html")
    page.get_by_role("link", name="Timings").click()
    assert page.locator("h1").inner_text() == "Timings"
    page.get_by_role("link", name="All suites").click()
    assert page.url.endswith("suites.html")


def test_timings_are_sorted_by_their_values_and_the_slower_are_marked(visit):
    page = visit("timing.html")
    table = page.locator("table.results").first
    rows = table.locator("tbody tr")
    assert [rows.nth(k).locator("th").inner_text() for k in range(2)] == ["AdamW", "IVON"]
    table.locator("thead button").nth(3).click()
    table.locator("thead button").nth(3).click()
    assert rows.first.locator("th").inner_text() == "IVON"
    assert table.locator("td.partial").all_inner_texts() == ["2 × slower"]
    assert "1 of 7 timings became slower" in page.locator(".banner").inner_text()


def test_regions_are_drawn_with_their_raster(visit):
    page = visit("moons")
    figure = page.locator("figure:has(image)").first
    assert figure.locator("svg").get_attribute("aria-label").startswith("Frequency on two moons")
    box = figure.locator("image").bounding_box()
    assert box["width"] > 100
    assert box["height"] > 50


def test_twins_are_told_and_hostile_words_stay_words(visit):
    page = visit("uci", 390)
    data = page.locator("#data")
    assert "3 of 10 test rows have an exact twin in training" in data.inner_text()
    data.locator("summary").click()
    assert HOSTILE in data.inner_text()
