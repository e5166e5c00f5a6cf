"""Tables copied from a page in Chromium, as Markdown, CSV or LaTeX."""

import csv
import io

import pytest

from tests.reports.browsing import HOSTILE, rows_shown

pytestmark = pytest.mark.long


def clip(visit, kind):
    page = visit("cifar10", permissions=["clipboard-read", "clipboard-write"])
    page.locator(".tools").first.get_by_role("button", name=f"as {kind}").click()
    page.get_by_text("copied").wait_for()
    return page, page.evaluate("navigator.clipboard.readText()")


def test_copied_markdown_is_the_table_of_the_file(visit, site):
    _, text = clip(visit, "Markdown")
    lines = (site / "cifar10" / "tables.md").read_text().splitlines()
    (adamw,) = [line for line in text.splitlines() if line.startswith("| AdamW ")]
    written = next(line for line in lines if line.startswith("| AdamW "))
    scores = [cell.strip() for cell in written.split("|")[2:6]]
    assert [cell.strip() for cell in adamw.split("|")[2:6]] == scores
    assert text.splitlines()[0].startswith("| Method | Accuracy (%)")
    assert {line.count("|") for line in text.splitlines()} == {text.splitlines()[0].count("|")}


def test_copied_csv_has_means_and_errors_apart(visit):
    _, text = clip(visit, "CSV")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 7
    assert all(float(row["Accuracy (%)"]) > 0 for row in rows)
    assert all(float(row["Accuracy (%) half of 95 % interval"]) > 0 for row in rows)


def test_copied_csv_holds_no_formula_but_negative_numbers(visit):
    page = visit("cifar10", permissions=["clipboard-read", "clipboard-write"])
    cells = page.locator("table.results").first.locator("tbody tr").first.locator("th, td")
    for cell, text in ((0, "=HYPERLINK(1)"), (1, "−1.5")):
        cells.nth(cell).evaluate("(cell, text) => { cell.textContent = text; }", text)
    page.locator(".tools").first.get_by_role("button", name="as CSV").click()
    page.get_by_text("copied").wait_for()
    lines = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert lines[1].startswith("'=HYPERLINK(1),-1.5,")


def test_copied_csv_has_the_states_of_the_file(visit, site):
    _, text = clip(visit, "CSV")
    copied = {row["Method"]: row["Accuracy (%) state"] for row in csv.DictReader(io.StringIO(text))}
    rows = csv.DictReader(io.StringIO((site / "cifar10" / "tables.csv").read_text()))
    first = next(iter(rows))
    written = {
        row["method"]: row["state"].partition(":")[0]
        for row in [first, *rows]
        if (row["table"], row["column"]) == (first["table"], "accuracy")
    }
    assert copied == written
    assert set(copied.values()) > {"not eligible"}


def test_copied_latex_marks_the_best(visit):
    _, text = clip(visit, "LaTeX")
    assert text.count("\\\\") == 8
    assert "\\textbf{" in text
    assert "$\\pm$" in text


def test_only_what_is_shown_is_copied_in_the_order_shown(visit):
    page = visit("cifar10", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_label("ensembles (2)").uncheck()
    page.locator("table.results").first.locator("th button", has_text="NLL").click()
    page.locator(".tools").first.get_by_role("button", name="as CSV").click()
    page.get_by_text("copied").wait_for()
    rows = list(csv.DictReader(io.StringIO(page.evaluate("navigator.clipboard.readText()"))))
    assert [row["Method"] for row in rows] == rows_shown(page)
    values = [float(row["NLL (nats)"]) for row in rows]
    assert values == sorted(values)


def test_where_a_page_may_not_copy_the_text_is_offered(visit):
    page = visit("cifar10")
    page.evaluate("void (navigator.clipboard.writeText = () => Promise.reject())")
    page.locator(".tools").first.get_by_role("button", name="as Markdown").click()
    area = page.locator("dialog.offer textarea")
    assert area.input_value().startswith("| Method |")
    assert page.evaluate("document.activeElement.selectionEnd") == len(area.input_value())
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog.offer", state="detached")


def test_hostile_names_stay_text_in_the_panel_and_when_copied(visit):
    page = visit("hostile", permissions=["clipboard-read", "clipboard-write"])
    names = set()
    for cell in page.locator("td:nth-child(2) button.cell >> visible=true").all():
        cell.click()
        for run in page.locator("dialog#runs tbody button").all():
            run.click()
        names.add(page.locator("dialog#runs h2").inner_text().split(" on ")[0])
        page.keyboard.press("Escape")
    assert all(any(name.startswith(hostile) for name in names) for hostile in HOSTILE)
    for kind in ("Markdown", "LaTeX", "CSV"):
        page.locator(".tools >> visible=true").first.get_by_role("button", name=kind).click()
    assert page.evaluate("window.hit") is None
    assert page.evaluate("document.images.length") == 0
