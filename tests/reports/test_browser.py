"""The page in real, headless Chromium."""

import csv
import io
import math
import re
import shutil

import numpy as np
import pytest

from reports.cli import main
from tests.reports.showcase import cifar10
from tests.reports.synthetic import classified, detected, keep, record, regressed

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
HOSTILE = [
    "<script>window.hit=1</script>",
    '<img src=x onerror="window.hit=1">',
    "x" * 200,
    "constructor",
]

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium is not installed: apt-get install chromium"
)


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Three suites: a usual one, one of hostile names and values, one of regression."""
    folder = tmp_path_factory.mktemp("results")
    cifar10(folder / "cifar10", seeds=3, points=200)
    rng = np.random.default_rng(0)
    scores = {
        "clean": {"nll": math.nan, "accuracy": 0.5, "</style><b>m</b>": -math.inf},
        "ood_svhn": {"auroc_ood": 0.5},
    }
    hostile = [
        record(m, m, scores=scores, suite=m, profile=m, origin="stand-in", facts={m: m},
               diagnostics={m: math.inf}, settings={m: m}, provenance={m: m})
        for m in HOSTILE
    ]  # fmt: skip
    hostile += [
        record(m, m, seed=1, scores={}, profile=m, origin="stand-in", status="failed", error=m)
        for m in HOSTILE
    ]
    predictions = {"clean": classified(rng, 1.0), "ood_svhn": detected(rng, 1.0, 1.0)}
    keep(folder / "hostile", hostile, {hostile[0].key: predictions, hostile[1].key: predictions})
    real = [
        record(m, d, fold=f, scores={"clean": {"rmse": 1.0 + f, "log_likelihood": -1.0}})
        for m in ("AdamW", "SGD")
        for d in ("boston", "yacht")
        for f in range(4)
    ]
    keep(folder / "uci", real, {r.key: {"clean": regressed(rng, 0.3, 0.4)} for r in real})
    site = tmp_path_factory.mktemp("site")
    assert main([str(folder), "--out", str(site)]) in (0, 3)
    return site


@pytest.fixture
def visit(browser, results):
    """Open a suite's page; afterwards nothing may have gone wrong or out."""
    complaints, requests, contexts = [], [], []

    def opened(suite, width=1400, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(8000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto((results / suite / "report.html" if suite else results / "index.html").as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert all(url.endswith(".html") for url in requests if url.startswith("file:"))


SUITES = ["cifar10", "hostile", "uci"]


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("width", [390, 820, 1400])
def test_the_page_never_scrolls_sideways(visit, suite, width):
    page = visit(suite, width)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("suite", SUITES)
def test_ids_are_unique_and_links_lead_somewhere(visit, suite):
    page = visit(suite)
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    links = page.evaluate("[...document.querySelectorAll('nav a')].map(a => a.hash.slice(1))")
    assert links
    assert set(links) <= set(ids)


def test_hostile_names_are_text_and_nothing_else(visit):
    page = visit("hostile")
    assert page.evaluate("window.hit") is None
    assert page.evaluate("[...document.scripts].map(s => s.type)") == ["application/json", ""]
    assert page.evaluate("document.images.length") == 0
    shown = page.evaluate("document.body.textContent")
    assert all(name in shown for name in HOSTILE)
    assert "NaN" in shown
    assert "∞" in shown


def column(page, index):
    return page.evaluate(
        "i => [...document.querySelector('table').tBodies[0].rows]"
        ".map(r => r.children[i].dataset.value ?? '')",
        index,
    )


def test_a_click_sorts_best_first_and_another_the_other_way(visit):
    page = visit("cifar10")
    accuracy = page.locator("table").first.locator("th button").nth(1)
    accuracy.click()
    values = [float(v) for v in column(page, 1)]
    assert values == sorted(values, reverse=True)
    heading = page.locator("table").first.locator("thead th").nth(1)
    assert heading.get_attribute("aria-sort") == "descending"
    accuracy.click()
    assert [float(v) for v in column(page, 1)] == values[::-1]
    assert heading.get_attribute("aria-sort") == "ascending"


def test_a_metric_where_less_is_better_begins_with_the_least(visit):
    page = visit("cifar10")
    page.locator("table").first.locator("th button", has_text="NLL").click()
    values = [float(v) for v in column(page, 3)]
    assert values == sorted(values)


def test_the_keyboard_sorts_by_name(visit):
    page = visit("cifar10")
    page.locator("table").first.locator("th button").first.focus()
    page.keyboard.press("Enter")
    names = column(page, 0)
    assert names == sorted(names, key=str.casefold)
    page.keyboard.press("Space")
    assert column(page, 0) == names[::-1]
    assert page.evaluate("document.querySelectorAll('[aria-sort]').length") == 1


def test_values_that_are_not_numbers_stay_last(visit):
    page = visit("hostile")
    head = page.locator("table").first.locator("th button", has_text="Accuracy")
    for _ in range(2):
        head.click()
        values = column(page, 1)
        assert values == sorted(values, key=lambda v: v == "")


def test_every_table_has_a_caption_and_named_headings(visit):
    page = visit("cifar10")
    assert page.evaluate("[...document.querySelectorAll('table')].every(t => t.caption)")
    assert page.evaluate("[...document.querySelectorAll('th')].every(t => t.scope)")
    assert page.evaluate(
        "[...document.querySelectorAll('figure svg')].every(s => s.getAttribute('aria-label'))"
    )


CONTRAST = """() => {
  const parse = c => c.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = c => { const [r, g, b] = parse(c).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor;
    if (!c.startsWith('rgba(0, 0, 0, 0')) return c; } return 'rgb(255, 255, 255)'; };
  const texts = [...document.querySelectorAll(
    'p, td, th, dt, dd, a, summary, h1, h4, .chip, button, label, legend, select, code')];
  return Math.min(...texts.map(e => { const [a, b] = [light(getComputedStyle(e).color),
    light(ground(e))].sort((x, y) => y - x); return (a + 0.05) / (b + 0.05); }));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground_by_day_and_night(visit, scheme):
    page = visit("cifar10", color_scheme=scheme)
    assert page.evaluate(CONTRAST) >= 4.5


def test_the_page_is_small(results):
    for suite in SUITES:
        assert (results / suite / "report.html").stat().st_size < 3e6


def rows_shown(page, table=0):
    return page.evaluate(
        "k => [...document.querySelectorAll('table.results')[k].tBodies[0].rows]"
        ".filter(r => !r.hidden).map(r => r.dataset.label)",
        table,
    )


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
    assert re.search(r"python -m suites\.reproduce [0-9a-f]{20}", told)
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


def test_the_first_key_leads_past_the_header(visit):
    page = visit("cifar10")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the results"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0


def clip(visit, kind):
    page = visit("cifar10", permissions=["clipboard-read", "clipboard-write"])
    page.locator(".tools").first.get_by_role("button", name=f"as {kind}").click()
    page.get_by_text("copied").wait_for()
    return page, page.evaluate("navigator.clipboard.readText()")


def test_copied_markdown_is_the_table_of_the_file(visit, results):
    _, text = clip(visit, "Markdown")
    lines = (results / "cifar10" / "tables.md").read_text().splitlines()
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
    assert all(float(row["Accuracy (%) standard error"]) > 0 for row in rows)


def test_copied_latex_marks_the_best(visit):
    _, text = clip(visit, "LaTeX")
    assert text.count("\\\\") == 8
    assert "\\textbf{" in text
    assert "$\\pm$" in text


def test_only_what_is_shown_is_copied_in_the_order_shown(visit):
    page = visit("cifar10", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_label("ensembles (2)").uncheck()
    page.locator("table").first.locator("th button", has_text="NLL").click()
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
    assert page.locator("dialog.offer").count() == 0


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


def test_names_of_inherited_properties_are_names(visit):
    page = visit("hostile")
    page.locator("tr[data-label^=constructor] button.cell >> visible=true").first.click()
    assert page.locator("dialog#runs h2").inner_text().startswith("constructor (")
    assert page.locator("dialog#runs tbody tr").count() == 1


@pytest.mark.parametrize("width", [390, 820, 1400])
def test_the_front_page_fits_and_its_links_lead_to_suites(visit, width):
    page = visit("", width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    links = page.evaluate("[...document.querySelectorAll('h2 a')].map(a => a.href)")
    assert len(links) == len(SUITES)
    page.goto(links[0])
    assert page.locator("h1").inner_text() == "CIFAR-10 benchmark"
    page.get_by_role("link", name="All suites").click()
    assert "Bayesian neural networks" in page.locator("h1").inner_text()


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
