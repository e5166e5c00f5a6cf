"""Tables in Chromium: sorted, filtered, and opened to their runs."""

import re

import pytest

from tests.reports.browsing import CONTRAST, rows_shown

pytestmark = pytest.mark.long


def column(page, index):
    return page.evaluate(
        "i => [...document.querySelector('table.results').tBodies[0].rows]"
        ".map(r => r.children[i].dataset.value ?? '')",
        index,
    )


def test_a_click_sorts_best_first_and_another_the_other_way(visit):
    page = visit("cifar10")
    accuracy = page.locator("table.results").first.locator("th button").nth(1)
    accuracy.click()
    values = [float(v) for v in column(page, 1)]
    assert values == sorted(values, reverse=True)
    heading = page.locator("table.results").first.locator("thead th").nth(1)
    assert heading.get_attribute("aria-sort") == "descending"
    accuracy.click()
    assert [float(v) for v in column(page, 1)] == values[::-1]
    assert heading.get_attribute("aria-sort") == "ascending"


def test_a_metric_where_less_is_better_begins_with_the_least(visit):
    page = visit("cifar10")
    page.locator("table.results").first.locator("th button", has_text="NLL").click()
    values = [float(v) for v in column(page, 3)]
    assert values == sorted(values)


def test_the_keyboard_sorts_by_name(visit):
    page = visit("cifar10")
    page.locator("table.results").first.locator("th button").first.focus()
    page.keyboard.press("Enter")
    names = column(page, 0)
    assert names == sorted(names, key=str.casefold)
    page.keyboard.press("Space")
    assert column(page, 0) == names[::-1]
    assert page.evaluate("document.querySelectorAll('[aria-sort]').length") == 1


def test_values_that_are_not_numbers_stay_last(visit):
    page = visit("hostile")
    head = page.locator("table.results").first.locator("th button", has_text="Accuracy")
    for _ in range(2):
        head.click()
        values = column(page, 1)
        assert values == sorted(values, key=lambda v: v == "")


GROUND = """() => [...document.querySelectorAll('table.results td')].map(cell =>
  [cell.className, getComputedStyle(cell).backgroundColor, getComputedStyle(cell).fontWeight])"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_only_the_best_and_their_equals_have_a_background(visit, scheme):
    page = visit("cifar10", color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    seen = set()
    for classes, ground, weight in page.evaluate(GROUND):
        coloured = {"best", "equal"} & set(classes.split())
        assert (ground == "rgba(0, 0, 0, 0)") is not bool(coloured), classes
        assert (int(weight) >= 600) is bool({"best", "leads"} & set(classes.split())) or (
            "partial" in classes
        )
        seen |= set(classes.split())
    assert {"worse", "undecided", "leads"} & seen
    assert "≈" not in page.content()


def test_a_cell_says_why_and_a_table_what_its_marks_mean(visit):
    page = visit("cifar10")
    cell = page.locator("td.not-eligible").first
    assert cell.get_attribute("title").startswith("not compared: one of four runs diverged")
    assert cell.locator(".letter").inner_text() == "x"
    why = page.locator("td.worse").first.get_attribute("title")
    assert re.match(
        r"worse than [\w @]+ \(p [=<] [\d.e-]+\); .* to .* \(3 seeds, standard error", why
    )
    assert "± is half of a 95 % interval over three seeds." in page.content()
    assert "( ) not compared: c constant" in page.locator(".key").first.inner_text()


def test_families_can_be_left_out_and_come_back(visit):
    page = visit("cifar10")
    before = rows_shown(page)
    page.get_by_label("ensembles (2)").uncheck()
    assert set(before) - set(rows_shown(page)) == {"Ensemble", "MC dropout"}
    assert "5 of 7 methods are shown" in page.locator(".filter-place").inner_text()
    page.locator(".filter-place").get_by_role("button", name="all").click()
    assert rows_shown(page) == before


def test_one_condition_is_shown_at_a_time_and_a_list_switches(visit):
    page = visit("cifar10")
    shown = page.locator(".switch").first.locator(".choice:not([hidden])")
    assert shown.count() == 1
    first = shown.locator("h4").inner_text()
    page.get_by_label("Condition").first.select_option(index=1)
    assert shown.count() == 1
    assert shown.locator("h4").inner_text() != first
    assert "AUROC" in shown.inner_text()


def test_one_metric_is_shown_at_a_time_where_there_are_several_data_sets(visit):
    page = visit("uci")
    shown = page.locator(".switch").first.locator(".choice:not([hidden]) h4")
    page.get_by_label("Metric").first.select_option("Log likelihood")
    assert shown.inner_text() == "Log likelihood"


def test_without_scripts_every_table_is_there_to_read(visit):
    page = visit("cifar10", java_script_enabled=False)
    assert page.locator(".switch").first.locator(".choice").count() == 3
    assert page.locator(".switch").first.locator(".choice table >> visible=true").count() == 3
    assert page.locator("select, button.cell, .filter").count() == 0


def test_a_cell_opens_its_runs_and_one_of_them(visit):
    page = visit("cifar10")
    table = page.locator("table.results").first
    cell = table.locator("tbody tr", has_text="MFVI").locator("button.cell").first
    cell.click()
    panel = page.locator("dialog#runs")
    assert panel.is_visible()
    assert panel.locator("h2").inner_text() == "MFVI on CIFAR-10"
    assert panel.locator("tbody tr").count() == 4
    statuses = panel.locator("tbody tr td:last-child").all_inner_texts()
    assert sorted(statuses) == ["completed"] * 3 + ["diverged"]
    values = [float(v) for v in panel.locator("tbody tr td:nth-child(4)").all_inner_texts()[:3]]
    mean = float(table.locator("tbody tr", has_text="MFVI").locator("td").first
                 .get_attribute("data-value"))  # fmt: skip
    assert sum(values) / 3 == pytest.approx(100 * mean, rel=1e-4)
    panel.locator("tbody button").nth(3).click()
    told = panel.locator(".run").inner_text()
    assert "became NaN in epoch 3" in told
    assert re.search(r"bnnbench repeat [0-9a-f]{20}", told)
    panel.get_by_text("Settings").click()
    assert "learning rate" in panel.locator(".run").inner_text()
    panel.get_by_text("Provenance").click()
    assert "Linux x86_64" in panel.locator(".run").inner_text()
    page.keyboard.press("Escape")
    assert not panel.is_visible()


def focused(page):
    return page.evaluate("document.activeElement.closest('td')?.cellIndex ?? -1")


def test_the_keyboard_goes_from_cell_to_cell_and_opens_one(visit):
    page = visit("cifar10")
    cells = page.locator("table.results").first.locator("button.cell")
    assert cells.evaluate_all("all => all.filter(c => c.tabIndex === 0).length") == 1
    cells.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert focused(page) == 2
    page.keyboard.press("Enter")
    assert page.locator("dialog#runs").is_visible()
    assert page.evaluate("document.activeElement.textContent") == "Close"
    page.keyboard.press("Enter")
    assert not page.locator("dialog#runs").is_visible()
    assert focused(page) == 2
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"


def test_names_of_inherited_properties_are_names(visit):
    page = visit("hostile")
    page.locator("tr[data-label^=constructor] button.cell >> visible=true").first.click()
    assert page.locator("dialog#runs h2").inner_text().startswith("constructor (")
    assert page.locator("dialog#runs tbody tr").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_panel_stands_out_and_fits_a_phone(visit, scheme):
    page = visit("cifar10", 390, color_scheme=scheme)
    page.locator("button.cell >> visible=true").first.click()
    assert page.evaluate(CONTRAST) >= 4.5
    box = page.locator("dialog#runs").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert (
        page.evaluate("(d => d.scrollWidth - d.clientWidth)(document.getElementById('runs'))") <= 0
    )
