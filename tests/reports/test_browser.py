"""The page in real, headless Chromium."""

import math
import shutil

import numpy as np
import pytest

from reports.cli import main
from tests.reports.showcase import cifar10
from tests.reports.synthetic import classified, detected, keep, record, regressed

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
HOSTILE = ["<script>window.hit=1</script>", '<img src=x onerror="window.hit=1">', "x" * 200]

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
    assert main([str(folder)]) in (0, 3)
    return folder


@pytest.fixture
def visit(browser, results):
    """Open a suite's page; afterwards nothing may have gone wrong or out."""
    complaints, requests, contexts = [], [], []

    def opened(suite, width=1400, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto((results / suite / "report.html").as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert all(url.endswith("report.html") for url in requests if url.startswith("file:"))


SUITES = ["cifar10", "hostile", "uci"]


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("width", [400, 1400])
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
  const texts = [...document.querySelectorAll('p, td, th, dt, dd, a, summary, h1, h4, .chip')];
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
