"""The page of a method and the comparison of two, of docs/bundle, in headless Chromium."""

import re

import pytest

from bnnbench.reports.pages.drilldown.run_pages import run_addresses
from bnnbench.reports.pages.layout import slugs
from bnnbench.reports.pages.methods.failures import verdicts_of
from bnnbench.reports.pages.methods.method_pages import Site, by_family, method_page
from bnnbench.reports.pages.methods.snippets import snippet
from bnnbench.reports.pages.site.compare_pages import compare_page
from bnnbench.reports.pages.site.paper_pages import paper_page
from bnnbench.reports.read.devices import gpu
from bnnbench.reports.style.families import family_of
from docs.generate import finished_runs
from tests.reports.browsing import CONTRAST, settled

pytestmark = pytest.mark.long


TASK = "regression-under-1-000-rows-5-splits-as-declared"
WIDTHS = [(390, "dark"), (820, "light"), (1400, "light"), (1400, "dark")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The pages of five methods, including the largest, and the comparison of any two."""
    folder = tmp_path_factory.mktemp("pages")
    suites, tasks = finished_runs.suites(), finished_runs.tasks()
    families = {m: family_of(r[0].run.get("method"))
                for bs in suites.values() for b in bs for m, r in b.runs.items()}  # fmt: skip
    pages = slugs(list(families))
    common = {"methodPages": list(pages.items()), "search": []}
    site = Site(suites, tasks, run_addresses(suites), verdicts_of(suites),
                finished_runs.printed_tables())  # fmt: skip
    (folder / "methods").mkdir()
    for listed in by_family(families, pages).values():
        for method, slug in listed:
            if method in ("PBP", "Laplace KFAC", "MP", "Ensemble", "SWAG"):
                address = f"methods/{slug}.html"
                (folder / address).write_text(method_page(method, address, site, common, listed))
    (folder / "compare.html").write_text(compare_page("compare.html", tasks, common, {}, suites))
    (folder / "papers").mkdir()
    printed = [table for table in finished_runs.printed_tables() if table.paper == "004"]
    page = paper_page("004", "papers/004.html", printed, site.run_pages, common)
    (folder / "papers/004.html").write_text(page)
    return folder


@pytest.fixture
def opened(browser, folder):
    """Return a function that opens an address; errors of the page's script fail the test."""
    pages, errors = [], []

    def open_(address, width=1400, scheme="light"):
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text))
        pages.append(page)
        page.goto(f"file://{folder}/{address}")
        return settled(page)

    yield open_
    assert not errors
    for page in pages:
        page.close()


@pytest.mark.parametrize(("width", "scheme"), WIDTHS)
@pytest.mark.parametrize("address", [
    "methods/pbp.html#set=energy&by=RMSE",
    "methods/laplace-kfac.html",
    f"compare.html#a=adamw&b=pbp&task={TASK}&by=error",
    "compare.html#a=ensemble&b=mfvi&task=out-of-distribution-detection-640-to-10-240-digits-3-000-"
    "photographs-as-declared",
])  # fmt: skip
def test_the_pages_fit_and_are_legible(opened, address, width, scheme):
    page = opened(address, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) >= 4.5


@pytest.mark.parametrize("name", ["mp", "swag"])
def test_the_largest_pages_of_methods_keep_to_their_size(folder, name):
    """They have at most 150,000 bytes; names for the search, absent here, take some 8,000."""
    assert (folder / f"methods/{name}.html").stat().st_size < 150_000


def test_a_strip_has_a_tick_for_every_place_of_another_method(opened):
    page = opened("methods/mp.html")
    strip = page.locator(".chapter[open] .strip").first
    line = strip.locator("path").get_attribute("d")
    steps = list(map(int, re.findall(r"h(\d+)", line)))
    assert len(steps) > 10
    assert 0 < min(steps[1:]) <= sum(steps) < 300  # the end of the line
    marker = "e => getComputedStyle(e).markerMid"
    assert "#tick" in strip.locator("path").evaluate(marker)
    assert page.locator("marker#tick path").count() == 1


def test_the_data_set_and_the_score_of_a_method_are_in_the_address(opened):
    page = opened("methods/pbp.html")
    every = page.locator(".strip").count()
    page.locator("select[data-name=set]").select_option("energy")
    page.locator("select[data-name=by]").select_option("RMSE")
    assert page.url.endswith("#set=energy&by=RMSE")
    few = page.locator(".strip:visible").count()
    assert 0 < few < every
    titles = page.locator(".strip:visible strong").all_inner_texts()
    assert set(titles) == {"energy"}
    page.reload()
    assert settled(page).locator(".strip:visible").count() == few
    page.go_back()
    page.wait_for_function("document.querySelector('#question [data-name=by]').value === ''")
    assert page.locator(".strip:visible").count() > few


def test_one_question_is_open_at_first_and_a_choice_opens_all(opened):
    page = opened("methods/pbp.html")
    chapters = page.locator(".chapter")
    assert chapters.count() > page.locator(".chapter[open]").count() == 1
    page.locator("select[data-name=by]").select_option("RMSE")
    assert page.locator(".chapter[open]").count() == chapters.count()


def test_nonsense_in_a_methods_address_hides_no_strip(opened):
    page = opened("methods/pbp.html#set=nowhere&by=zzz")
    assert page.locator(".strip[hidden]").count() == 0 < page.locator(".strip").count()


def test_the_neighbours_of_a_family_lead_to_each_other(opened):
    page = opened("methods/pbp.html")
    following = page.locator("[rel=next]").get_attribute("href")
    before = page.locator("[rel=prev]").get_attribute("href")
    assert following.endswith(".html")
    assert before != following


def test_formulas_are_drawn_without_a_script(opened):
    page = opened("methods/laplace-kfac.html")
    page.locator("details:not(.chapter)").evaluate("e => e.open = true")
    box = page.locator("math").first.bounding_box()
    assert box["width"] > 20
    assert "$" not in page.locator("details:not(.chapter)").inner_text()


def test_the_code_is_of_the_suite_that_is_named(opened):
    page = opened("methods/ensemble.html")
    (runs, *_) = (b.runs["Ensemble"] for b in finished_runs.suites()["uci"] if b.profile == "quick")
    assert page.locator("pre").inner_text().strip() == snippet(runs[0].run["method"])
    assert 'bnnbench uci --profile quick --methods "Ensemble"' in page.locator("main").inner_text()


def test_times_of_fits_on_a_gpu_are_of_the_clock(opened):
    rows = opened("methods/mp.html").locator("h2:has-text('Runs') ~ div tbody tr")
    texts = [rows.nth(k).inner_text() for k in range(rows.count())]
    by_clock = [text.split()[:2] for text in texts if "(wall time)" in text]
    suites = finished_runs.suites()
    on_gpu = {
        (suite, b.profile)
        for suite, bs in suites.items()
        for b in bs
        if any(gpu(run) for run in b.runs.get("MP", ()))
    }
    assert {(suite, profile) for suite, profile in by_clock} >= on_gpu > set()
    assert len(by_clock) < len(texts)


def test_runs_that_two_questions_share_are_compared_once(opened):
    page = opened("compare.html#a=adamw&b=pbp&by=likelihood")
    rows = page.locator("#differences tbody tr:not(.group)")
    names = rows.locator("td:first-child").all_inner_texts()
    shared = [
        (c.suite, c.profile)
        for task in finished_runs.tasks()
        for c in task.columns
        if c.title == "haberman"
    ]
    assert sum("haberman" in name for name in names) == len(set(shared)) < len(shared)


def test_a_question_and_a_score_of_a_comparison_are_in_the_address(opened):
    page = opened("compare.html#a=adamw&b=pbp")
    every = page.locator("#differences tbody tr:not(.group)").count()
    page.locator("select[data-name=task]").select_option(TASK)
    page.locator("select[data-name=by]").select_option("error")
    assert f"task={TASK}" in page.url
    assert page.url.endswith("by=error")
    rows = page.locator("#differences tbody tr:not(.group)")
    assert 0 < rows.count() < every
    assert set(rows.locator("td:nth-child(2)").all_inner_texts()) == {"RMSE"}
    headline = page.locator("#headline").inner_text()
    page.reload()
    assert settled(page).locator("#headline").inner_text() == headline
    assert f"of {rows.count()} comparisons" in headline
    assert opened("compare.html#a=adamw&b=pbp&task=zzz&by=yyy").locator(
        "#differences tbody tr:not(.group)"
    ).count() == every  # fmt: skip


def test_marks_are_the_runs_that_both_have_and_lie_on_the_side_of_the_better(opened):
    page = opened(f"compare.html#a=adamw&b=pbp&task={TASK}&by=error")
    (task,) = (t for t in finished_runs.tasks() if t.name == TASK)
    for column in task.columns:
        scores = task.scores["error"][column.name]
        both = scores["AdamW"].keys() & scores["PBP"].keys()
        better = {run for run in both if scores["AdamW"][run] < scores["PBP"][run]}
        plot = page.locator(f"figure[data-column='{column.name}']")
        marks = plot.evaluate(
            "f => { const d = f.querySelector('.diagonal'), at = n => Number(d.getAttribute(n));"
            " const slope = (at('y2') - at('y1')) / (at('x2') - at('x1'));"
            " return [...f.querySelectorAll('circle')].map(c => [c.dataset.run,"
            " Number(c.getAttribute('cy')) < at('y1') + slope * (Number(c.getAttribute('cx'))"
            " - at('x1'))]); }"
        )
        above = {tuple(map(int, run.split("."))) for run, is_above in marks if is_above}
        assert len(marks) == len(both) > 3
        assert above == better
        assert f"AdamW better in {len(better)} of {len(both)}" in plot.inner_text()


def test_only_settings_that_differ_are_side_by_side(opened):
    address = "compare.html#a=laplace-diagonal&b=laplace-kfac&task=regression-under-1-000-rows-"
    page = opened(f"{address}5-splits-searched")
    rows = page.locator(".beside tbody tr")
    texts = [rows.nth(k).locator("th, td").all_inner_texts() for k in range(rows.count())]
    assert ["method.structure", "Diagonal", "Kfac"] in [[a, b, c] for a, b, c in texts]
    assert all(ours != theirs for _, ours, theirs in texts)
    assert "equal and not shown" in page.locator("#settings").inner_text()


@pytest.mark.parametrize(
    ("address", "part"),
    [
        ("compare.html#a=adamw&b=laplace-kfac", "#differences thead th:nth-child(4)"),
        ("papers/004.html", "#table-1 + p + .scroll thead th:last-child"),
    ],
)
def test_what_a_table_is_read_for_is_in_view_on_a_phone(opened, address, part):
    """The state of a difference, and the method that the paper is about."""
    box = opened(address, 390).locator(part).bounding_box()
    assert box["x"] + box["width"] <= 390
