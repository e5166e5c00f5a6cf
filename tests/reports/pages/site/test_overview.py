"""The overview: names in words, cells and answers that agree, from artificial runs."""

import re
from dataclasses import replace

import numpy as np
import pytest

from bnnbench.reports.pages.layout import slugs
from bnnbench.reports.pages.site.answers import answer_to
from bnnbench.reports.pages.site.board_pages import addresses_of
from bnnbench.reports.pages.site.overview.asks import ASKS, Asked, asked_of
from bnnbench.reports.pages.site.overview.cells import Cell, cells_of
from bnnbench.reports.pages.site.overview.facts import NO_RUNS
from bnnbench.reports.pages.site.overview.overview import overview
from bnnbench.reports.pages.site.overview.page import overview_page
from bnnbench.reports.pages.site.overview.picture import DARK, LIGHT, picture
from bnnbench.reports.pages.site.overview.rows import rows_of, shown
from bnnbench.reports.pages.site.overview.states import EVERYONE, USUAL, State
from bnnbench.reports.pages.site.questions import QUESTIONS
from bnnbench.reports.pages.site.site import tasks_of
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.style.numbers import slug
from bnnbench.reports.style.variants import in_words, method_of
from docs.generate.picture import FOLDER, pictures
from tests.reports.pages.site.stores import photographs, regressions
from tests.reports.pages.site.test_browser import site, troubled

__all__ = ["site", "troubled"]


@pytest.fixture(scope="module")
def tasks():
    rng = np.random.default_rng(0)
    runs = {"uci": benchmarks(regressions(rng)), "cifar10": benchmarks(photographs(rng))}
    return tasks_of(runs)


@pytest.fixture(scope="module")
def of(tasks):
    return overview(tasks)


@pytest.mark.parametrize(
    ("label", "method", "words"),
    [
        ("MP informed x3 (tempered)", "Message passing",
         "Message passing, informed prior, mean of three, tempered"),
        ("MC Dropout", "MC dropout", "MC dropout"),
        ("Ensemble of 8", "Ensemble", "Ensemble, eight members"),
        ("Ensemble of label smoothing", "Ensemble", "Ensemble, label smoothing"),
        ("Rank1 fVI", "Function-space VI", "Function-space VI, Rank-1"),
        ("IVON@mean", "IVON", "IVON, at its mean"),
        ("Laplace last layer", "Laplace", "Laplace, last layer"),
        ("<b>x</b>", "<b>x</b>", "<b>x</b>"),
    ],
)  # fmt: skip
def test_a_label_has_a_method_and_a_name_in_words(label, method, words):
    assert (method_of(label), in_words(label)) == (method, words)


def test_every_source_of_a_column_is_a_question_of_the_board():
    known = {(q.kind, p.suite, p.profile) for q in QUESTIONS for p in q.places[:1]}
    assert {source[:3] for ask in ASKS for source in ask.sources} <= known
    assert len({ask.name for ask in ASKS}) == len(ASKS)


def test_the_numbers_in_a_column_are_those_of_its_question():
    data = {(q.kind, p.suite, p.profile): q.data for q in QUESTIONS for p in q.places[:1]}
    for *where, scope in (source for ask in ASKS for source in ask.sources):
        assert set(re.findall(r"[\d,]*\d", scope)) <= set(re.findall(r"[\d,]*\d", data[*where]))


def test_who_is_worse_in_the_sentence_is_worse_in_the_picture(tasks):
    for task in tasks:
        answer = answer_to(task, task.scales[0].name)
        cells = cells_of(answer)
        behind = {m for m, cell in cells.items() if cell.kind != "fails" and cell.low > 1}
        worse = {row.method for row in answer.ranking.compared if row.standing.state == "worse"}
        failing = {m for m, cell in cells.items() if cell.kind == "fails"}
        assert behind == worse - failing


def test_columns_without_runs_stay_and_say_so(tasks, of):
    run = {c.ask.name for c in asked_of(tasks) if c.task}
    assert run == {"num", "pho", "oop"}
    assert {c.ask.name for c in of.columns if of.told(c).grade == "no runs"} == (
        {ask.name for ask in ASKS} - run
    )
    assert "not yet run" in of.knowledge


def test_a_method_that_diverged_fails(of):
    row = next(row for row in of.rows if row.name == "MFVI")
    cell = of.cell(row, next(c for c in of.columns if c.ask.name == "num"))
    assert cell is not None
    assert cell[1].kind == "fails"


def test_one_question_of_many_data_sets_counts_as_much_as_three_of_few(tasks):
    run_on = {"Wide": [0], "Seen": [0, 1, 2], "Rare": [1, 2]}
    task = replace(tasks[0], families=dict.fromkeys(run_on, "other"))
    asked = [Asked(ask, task, "") for ask in ASKS[:3]]
    states = {}
    for k, column in enumerate(asked):
        cells = {m: Cell("front", 1, 2) for m, on in run_on.items() if k in on}
        state = State(NO_RUNS, count=len(cells), cells=cells, over_sets=k == 0)
        states[column.ask.name] = dict.fromkeys((USUAL, EVERYONE), state)
    parts = {row.name: row.part for row in rows_of(asked, states)}
    assert parts == {"Wide": 0, "Seen": 0, "Rare": 1}


def test_the_page_is_small_and_has_every_cell_and_no_markup_of_names(tasks, of):
    methods = [m for row in of.rows for m in row.variants]
    common = {"methodPages": list(slugs(methods).items()), "search": []}
    text = overview_page(of, addresses_of(tasks), common, ["Run three."])
    assert len(text.encode()) < 150_000
    links = re.findall(r'<a href="([^"]*)">Evidence</a>', text)
    asked = [c.task.question for c in of.columns if c.task]
    assert [link.partition("#rows=")[2].partition("&amp;")[0] for link in links] == [
        slug(question.data) for question in asked
    ]
    assert "<script>window.hit" not in text
    assert "https:" not in text
    for colours in (LIGHT, DARK):
        assert "<script" not in picture(of, colours)


@pytest.mark.long
def test_the_pictures_of_the_readme_are_current():
    for name, text in pictures().items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, (
            "run python -m docs.generate.picture"
        )


@pytest.mark.long
def test_the_switches_show_what_python_computed(visit, of):
    page = visit("index.html")
    before = page.locator("#knowledge").inner_text()
    assert before == of.knowledge
    page.locator("#cost").select_option("1")
    page.wait_for_url("**#cost=1")
    cells = [
        [shown(of.states[column.ask.name][state].cells, row.variants) for state in (USUAL, "11")]
        for row in of.networks
        for column in of.columns
    ]
    beyond = sum(usual is not None and within is None for usual, within in cells)
    assert page.locator("tr:not(.v) td.o").count() == beyond
    filled = page.locator("#overview tr:not(.v) td a").count()
    assert filled == sum(within is not None for _, within in cells) > 0
    page.locator("#sort").select_option("name")
    names = page.locator("#overview tbody:first-of-type tr[data-r]:not(.v) th").all_inner_texts()
    assert [n.lower() for n in names] == sorted(n.lower() for n in names)
    page.reload()
    assert page.locator("#cost").input_value() == "1"
