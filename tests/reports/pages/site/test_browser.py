"""The board and its pages in real, headless Chromium."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from bnnbench.commands.report import main
from bnnbench.reports.pages.drilldown.run_pages import run_pages
from bnnbench.reports.pages.layout import LIMIT
from bnnbench.reports.pages.site.advice import advice
from bnnbench.reports.pages.site.answers import answer_to
from bnnbench.reports.pages.site.compare_pages import compare_page
from bnnbench.reports.pages.site.paper_pages import paper_page
from bnnbench.reports.pages.site.ranking import ranked
from bnnbench.reports.pages.site.site import names_for_search, tasks_of
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.load import read
from bnnbench.reports.style.numbers import slug
from docs.generate import finished_runs
from tests.reports.browsing import CONTRAST, HOSTILE, settled
from tests.reports.pages.site.stores import ERROR, keep_troubled, many_conditions

pytestmark = pytest.mark.long


KINDS = ("index.html", "board/regression.html", "board/classification.html",
         "methods/adamw.html", "data/boston.html",
         "suites.html", "compare.html",
         "methods/index.html", "data/index.html", "papers/003.html",
         "papers/index.html", "runs/uci-quick-energy.html")  # fmt: skip


COMMON = {"methodPages": [], "search": []}


def names():
    """Return the function from the address of a page to what its search has."""
    return names_for_search(finished_runs.suites(), ("000", "001", "002", "003", "004"))


def comparison(tasks):
    """Return the page that compares two methods of the finished runs."""
    address = "compare.html"
    return compare_page(address, tasks, names()(address), suites=finished_runs.suites())


@pytest.fixture(scope="module")
def troubled(tmp_path_factory):
    """Results with every kind of problem."""
    folder = tmp_path_factory.mktemp("troubled")
    keep_troubled(folder)
    return folder


@pytest.fixture(scope="module")
def site(troubled, tmp_path_factory):
    """The site of these results."""
    site = tmp_path_factory.mktemp("site")
    assert main([str(troubled), "--out", str(site)]) == 0
    return site


@pytest.fixture(scope="module")
def of_bundle(tmp_path_factory):
    """The board of docs/bundle."""
    from bnnbench.reports.pages.drilldown.run_pages import run_addresses
    from bnnbench.reports.pages.site.board_pages import board_pages

    folder = tmp_path_factory.mktemp("bundle")
    (folder / "board").mkdir()
    tasks, runs = finished_runs.tasks(), run_addresses(finished_runs.suites())
    for address, text in board_pages(tasks, runs, names()).items():
        (folder / address).write_text(text)
    (folder / "compare.html").write_text(comparison(tasks))
    return folder / "board" / "regression.html"


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    """The page of paper 003 from docs/bundle."""
    folder = tmp_path_factory.mktemp("papers")
    tables = [table for table in finished_runs.printed_tables() if table.paper == "003"]
    text = paper_page("003", "papers/003.html", tables, {}, COMMON)
    (folder / "003.html").write_text(text)
    return folder / "003.html"


def answers(page, task, criterion, off, budget, networks):
    """Return the page's script's answer to a question."""
    asked = [task.name, criterion, off, budget, networks]
    return page.evaluate("q => bnnbench.answer(...q)", asked)


def require_equal(page, task, criterion, off, budget, networks):
    """Require that the page and Python give the same states, numbers and words."""
    columns = [c.name for c in task.columns if c.name not in off]
    ours = ranked(task, criterion, columns, budget or None, networks)
    theirs = answers(page, task, criterion, off, budget, networks)
    words = advice(ours)
    assert (theirs["headline"], theirs["text"]) == (words.headline, words.text)
    states = [r.standing.excluded.reason if r.standing.excluded else "" for r in ours.rows]
    assert [row.get("words") or "" for row in theirs["rows"]] == states
    for row, their in zip(ours.rows, theirs["rows"], strict=True):
        assert row.method == their["method"]
        if row.margin is None:
            continue
        assert row.state == their["state"]
        pairs = [(row.margin, their["margin"]), (row.low, their["low"]), (row.high, their["high"])]
        pairs += [(row.standing.adjusted_p, their.get("adjusted"))]
        pairs += [(row.standing.equal_p, their.get("equal"))]
        for mine, other in pairs:
            if mine is not None and other is not None:
                assert math.isclose(mine, other, rel_tol=1e-9, abs_tol=1e-12)


def questions_of(tasks):
    """Yield each task with its criteria, excluded data sets, budgets, and networks only or all."""
    for task in tasks:
        names = [column.name for column in task.columns]
        for scale in task.scales:
            for off in ([], *([name] for name in names if len(names) > 1)):
                for budget, networks in ((0, True), (2, False)):
                    yield task, scale.name, off, budget, networks


def by_page(tasks):
    """Return the address of each board page → the tasks on it."""
    pages: dict[str, list] = {}
    for task in tasks:
        kind = task.question.kind
        pages.setdefault(f"board/{slug(kind)}.html", []).append(task)
    return pages


@pytest.mark.long
def test_page_and_python_agree_on_every_question_of_the_bundle(browser, of_bundle):
    page = browser.new_page()
    asked = 0
    for address, tasks in by_page(finished_runs.tasks()).items():
        page.goto((of_bundle.parents[1] / address).as_uri())
        settled(page)
        for question in questions_of(tasks):
            require_equal(page, *question)
            asked += 1
    page.close()
    assert asked > 100


@pytest.mark.long
def test_the_answer_over_data_sets_stands_until_a_data_set_is_left_out(browser, of_bundle):
    name = "more tables under 1,000 rows"
    task = next(task for task in finished_runs.tasks() if task.question.data == name)
    page = browser.new_page()
    address = (of_bundle.parent / "classification.html").as_uri()
    for budget in (None, 3):
        page.goto(f"{address}#rows={slug(name)}&budget={budget or ''}")
        page.reload()
        settled(page)
        expected = answer_to(task, "likelihood", budget)
        assert page.locator("#headline").inner_text() == expected.headline
        assert page.locator("#sentences").inner_text() == expected.text
        first = page.locator("#league tbody tr").first.locator("td").first
        assert first.text_content() == expected.first
    page.locator("#counted button").first.click()
    page.wait_for_function("!document.querySelector('#league').children.length")
    assert "tables like these" not in page.locator("#sentences").inner_text()
    page.close()


def test_page_and_python_agree_on_troubled_results(visit, troubled):
    runs = {name: benchmarks(read(troubled / name).records) for name in ("uci", "cifar10")}
    for address, tasks in by_page(tasks_of(runs)).items():
        page = visit(address)
        for question in questions_of(tasks):
            require_equal(page, *question)


def test_another_kind_of_question_is_another_page(visit):
    page = visit("board/regression.html")
    page.locator("select[data-name=budget]").select_option("10")
    page.locator("#counted button").first.click()
    page.locator("select[data-name=task]").select_option("classification")
    page.wait_for_url("**/board/classification.html#*")
    settled(page)
    assert page.locator("select[data-name=task]").input_value() == "classification"
    assert page.evaluate("document.activeElement.dataset.name") == "task"
    words = page.url.split("#")[1].split("&")
    assert set(words) == {"task=classification", "budget=10"}
    page.locator(".heat button").first.click()
    page.locator("dialog td button").first.click()
    page.get_by_role("link", name="Settings, diagnostics and data").click()
    page.wait_for_url("**/runs/cifar10-quick-cifar10.html#method=*&run=*")
    page.goto(page.url.split("runs/")[0] + "board/classification.html#task=regression&budget=2")
    page.wait_for_url("**/board/regression.html#task=regression&budget=2")


def test_back_from_another_kind_returns_to_the_question_before(visit):
    page = visit("board/regression.html")
    page.locator("select[data-name=by]").select_option("error")
    before = page.locator("#headline").inner_text()
    page.locator("select[data-name=task]").select_option("classification")
    page.wait_for_url("**/board/classification.html#*")
    settled(page)
    page.go_back()
    page.wait_for_url("**/board/regression.html#by=error")
    assert settled(page).locator("#headline").inner_text() == before


@pytest.mark.long
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (820, "dark"), (1400, "light")])
def test_every_page_fits_and_is_legible(visit, name, width, scheme):
    page = visit(name, width, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) >= 4.5
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_runs_of_a_split_are_said_to_be_a_mean_over_seeds(of_bundle, browser):
    page = browser.new_page()
    page.goto(f"{of_bundle.as_uri()}#rows=under-1-500-rows-20-splits")
    page.locator("#heat tbody button").first.click()
    rows = page.locator("#runs tbody tr")
    assert rows.count() == 20
    assert all("mean of 3" in text for text in rows.all_inner_texts())
    page.close()


@pytest.mark.parametrize("width", [1160, 1200, 1400])
def test_the_ranking_leaves_room_for_the_figure_beside_it(of_bundle, browser, width):
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(of_bundle.as_uri())
    page.locator("#ranking table").wait_for()
    page.locator("#chart").wait_for()
    edges = "[document.querySelector('#ranking table'), document.querySelector('#chart')]"
    table, chart = page.evaluate(f"{edges}.map((e) => e.getBoundingClientRect().toJSON())")
    page.close()
    assert table["right"] < chart["left"]
    assert chart["width"] > 300


@pytest.mark.parametrize("name", KINDS)
def test_hostile_names_are_text_and_nothing_else(visit, name):
    page = visit(name)
    assert page.evaluate("window.hit") is None
    assert page.evaluate("[...document.scripts].map(s => s.type)") == ["application/json", ""]
    assert page.evaluate("document.images.length") == 0


def test_the_answer_is_on_a_phones_first_screen(visit):
    page = visit("board/regression.html", 390)
    box = page.locator("#headline").bounding_box()
    assert box["y"] + box["height"] < 844
    assert page.locator("#headline").inner_text()


def test_a_choice_is_in_the_address_and_survives_a_reload_and_back(visit):
    page = visit("board/regression.html")
    first = page.locator("#sentences").inner_text()
    page.locator("select[data-name=by]").select_option("calibration")
    changed = page.locator("#sentences").inner_text()
    assert changed != first
    assert "by=calibration" in page.url
    page.reload()
    assert settled(page).locator("#sentences").inner_text() == changed
    page.go_back()
    page.wait_for_function(
        "text => document.getElementById('sentences').innerText === text", arg=first
    )


def test_a_data_set_can_be_left_out_but_not_the_last(visit):
    page = visit("board/regression.html")
    buttons = page.locator("#counted button")
    assert buttons.count() == 3
    for k in range(3):
        buttons.nth(k).click(force=True)
    assert page.locator("#counted button[aria-pressed=true]").count() == 1
    assert page.url.count("%2C") == 1


def test_nonsense_in_the_address_is_the_usual_answer(visit):
    page = visit("board/regression.html")
    usual = page.locator("#headline").inner_text()
    nonsense = "#task=nonsense&by=zzz&pin=nobody&open=x/y&off=boston,energy,yacht&budget=7"
    page.goto(page.url.split("#")[0] + nonsense)
    page.reload()
    assert settled(page).locator("#headline").inner_text() == usual
    assert not page.locator("dialog").is_visible()


def test_runs_behind_a_cell_by_keyboard_alone(visit):
    page = visit("board/regression.html")
    cell = page.locator(".heat button[tabindex='0']")
    cell.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    own = page.evaluate("document.activeElement.dataset.open")
    page.keyboard.press("Enter")
    assert page.locator("dialog").is_visible()
    page.locator("dialog td button").first.click()
    assert "bnnbench repeat " in page.locator("dialog pre").inner_text()
    page.keyboard.press("Escape")
    assert not page.locator("dialog").is_visible()
    # A dialog's close event, which gives the focus back, is a task of its own after it is hidden.
    page.wait_for_function("own => document.activeElement.dataset.open === own", arg=own)
    assert "open=" not in page.url


def test_a_cell_leads_to_the_page_of_its_run(visit):
    page = visit("board/regression.html")
    page.locator(".heat button").first.click()
    page.locator("dialog td button").nth(2).click()
    key = page.locator("dialog td button").nth(2).inner_text()
    page.get_by_role("link", name="Settings, diagnostics and data").click()
    page.wait_for_url(f"**/runs/uci-quick-*.html#method=*&run={key}")
    assert page.locator("tr.lit button").inner_text() == key
    assert page.locator("#run pre").first.inner_text().startswith(f"bnnbench repeat {key}")
    assert page.locator("#run h2").inner_text().endswith("seed 0: completed")


def test_a_failed_run_shows_its_error_and_where_it_was_raised(visit):
    page = visit("runs/uci-quick-energy.html")
    page.locator(".failed a").first.click()
    assert page.locator("#run h2").inner_text() == "MFVI, fold 3, seed 0: diverged"
    assert page.locator("#run pre.error").inner_text() == ERROR
    assert page.locator("#question select").input_value() == "mfvi"


def test_the_choice_of_a_method_is_in_the_address_and_an_unknown_run_is_named(visit):
    page = visit("runs/uci-quick-energy.html")
    page.locator("#question select").select_option("pbp")
    assert page.url.endswith("#method=pbp")
    assert page.locator("#list tbody tr").count() == 2
    page.reload()
    assert page.locator("#list tbody tr").count() == 2
    page.goto(page.url.split("#")[0] + "#run=00000000")
    page.reload()
    assert "00000000" in page.locator("#run [role=alert]").inner_text()


def test_settings_that_differ_from_the_defaults_are_bold(visit):
    page = visit("runs/cifar10-quick-cifar10.html")
    page.locator("#question select").select_option("ivon")
    bold = page.evaluate(
        "[...document.querySelectorAll('#run dd b')]"
        ".map(b => b.parentNode.previousSibling.textContent)"
    )
    assert bold == ["learning_rate"]


def test_a_page_finds_a_run_that_its_neighbour_has(browser, tmp_path):
    runs = many_conditions()
    pages = run_pages("large", runs, "runs/large.html", COMMON)
    assert len(pages) > 1
    for address, text in pages.items():
        (tmp_path / address).parent.mkdir(exist_ok=True)
        (tmp_path / address).write_text(text)
    page = browser.new_page()
    last = runs.records[-1]
    key = last.key[:8]
    link = f"#method={slug(last.method)}&run={key}"
    page.goto((tmp_path / "runs/large.html").as_uri() + link)
    page.wait_for_url("**/large.*.html*")
    assert page.locator("tr.lit button").inner_text() == key
    page.close()


def test_a_row_lights_its_mark_and_a_pin_stays(visit):
    page = visit("board/regression.html")
    page.locator(".ranking tbody tr").nth(1).hover()
    method = page.locator(".ranking tbody tr").nth(1).get_attribute("data-method")
    lit = page.evaluate("[...document.querySelectorAll('.lit')].map(e => e.dataset.method)")
    assert set(lit) == {method}
    assert len(lit) == 3
    page.locator(".ranking tbody tr .pin").nth(1).click()
    assert page.locator(".ranking tr.pinned").get_attribute("data-method") == method
    assert "pin=" in page.url


def test_search_finds_methods_and_data_by_keyboard(visit):
    page = visit("board/regression.html")
    page.keyboard.press("/")
    page.keyboard.type("bost")
    assert page.locator("#hits li").first.inner_text() == "boston data set"
    page.keyboard.press("Enter")
    page.wait_for_url("**/data/boston.html")
    page.locator("#search").fill("nowhere unheard")
    assert "Nothing is called" in page.locator("#hits").inner_text()


def test_search_puts_exact_and_short_names_first_and_takes_several_names(visit):
    page = visit("board/regression.html")
    page.locator("#search").fill("ensemble")
    assert page.locator("#hits li").first.inner_text() == "Ensemble method"
    lengths = [len(text) for text in page.locator("#hits a").all_inner_texts()]
    assert lengths == sorted(lengths)
    page.locator("#search").fill("pbp boston")
    hits = page.locator("#hits li").all_inner_texts()
    assert hits[0] == "PBP method"
    assert "boston data set" in hits


def test_two_methods_are_compared_in_pairs(visit):
    page = visit("compare.html")
    page.locator("select[data-name=a]").select_option("adamw")
    page.locator("select[data-name=b]").select_option("laplace")
    assert "undecided" in page.locator("#headline").inner_text()
    states = page.evaluate(
        "[...document.querySelectorAll('#differences tbody tr:not(.group)')].map(r => r.className)"
    )
    assert set(states) == {"identical"}


def test_without_a_script_the_usual_answer_is_there(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "board" / "regression.html").as_uri())
    assert page.locator("noscript h1").inner_text()
    assert page.locator("noscript tbody tr").count() > 5
    context.close()


@pytest.mark.parametrize(
    "damage", [('id="page-data">{', 'id="page-data">{{'), ('"tasks":"eN', '"tasks":"eM')]
)
def test_a_page_with_damaged_data_says_so(browser, site, tmp_path, damage):
    text = (site / "board" / "regression.html").read_text()
    damaged = tmp_path / "index.html"
    damaged.write_text(text.replace(*damage, 1))
    page = browser.new_page()
    page.goto(damaged.as_uri())
    assert "Build the site again" in page.locator("[role=alert]").inner_text()
    page.close()


def test_hostile_methods_are_on_the_board_by_their_names(visit):
    page = visit("board/regression.html")
    named = page.evaluate(
        "[...document.querySelectorAll('.ranking tbody a')].map(a => a.textContent)"
    )
    assert set(HOSTILE) <= set(named)
    links = page.evaluate("[...document.querySelectorAll('.ranking tbody a')].map(a => a.href)")
    assert len(set(links)) == len(links)


def test_the_site_of_the_bundle_keeps_to_its_sizes(of_bundle):
    """A page, with the names for the search, has at most 300,000 bytes, a comparison 250,000."""
    for page in by_page(finished_runs.tasks()):
        assert (of_bundle.parents[1] / page).stat().st_size <= LIMIT
    assert (of_bundle.parents[1] / "compare.html").stat().st_size < 250_000


def test_a_comparison_keeps_to_its_size_with_forty_tables():
    """Copies of tables have other names, and scores of another size with other noise."""
    rng = np.random.default_rng(0)
    first, *others = finished_runs.tasks()
    parts = {
        name: dict(getattr(first, name)) for name in ("seconds", "keys", "barred", "facts")
    } | {"scores": {scale: dict(of) for scale, of in first.scores.items()}}
    columns = list(first.columns)
    copies = itertools.product(range(3), first.columns)
    for k, column in itertools.islice(copies, 40 - len(columns)):
        again = replace(column, name=f"{column.name}{k}", title=f"{column.title}{k}",
                        fits=f"{column.fits}{k}")  # fmt: skip
        columns.append(again)
        for name in ("seconds", "keys", "barred", "facts"):
            parts[name][again.name] = parts[name][column.name]
        for of in parts["scores"].values():
            size = rng.lognormal()
            of[again.name] = {
                method: {run: float(f"{size * rng.normal(s, 0.03 * abs(s)):.5g}")
                         for run, s in by_run.items()}
                for method, by_run in of[column.name].items()
            }  # fmt: skip
    tasks = [replace(first, columns=tuple(columns), **parts), *others]
    assert len(columns) == 40
    assert len(comparison(tasks).encode()) < 250_000


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1400, "light")])
def test_a_printed_number_opens_its_explanation_and_gives_the_focus_back(
    browser, paper, width, scheme
):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(paper.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) >= 4.5
    number = page.locator(".printed button").first
    shown = number.locator("small").inner_text()
    number.click()
    dialog = page.locator("#number")
    assert "Printed in table 2" in dialog.inner_text()
    assert shown in dialog.inner_text()
    assert "open=0" in page.url
    page.keyboard.press("Escape")
    page.wait_for_function("!document.getElementById('number').open")
    assert page.evaluate("document.activeElement.dataset.open") == "0"
    assert "open=" not in page.url
    page.close()
