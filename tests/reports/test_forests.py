"""Rows of intervals by method, and the figure with which a suite's page opens."""

import re

import pytest

from bnnbench.reports.figures.forests import WIDTH, of_ranks, of_scores
from bnnbench.reports.judge.measures import judged
from bnnbench.reports.judge.ranks import ranks
from bnnbench.reports.pages.report.content import content
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.load import read
from tests.reports.first_pages import render
from tests.reports.shared_figures import ranked
from tests.reports.synthetic import keep, runs_of

SCORES = {
    "AdamW": [2.0, 2.2, 2.1],
    "SGD": [2.3, 2.5, 2.4],
    "IVON": [1.8, 2.0, 1.9],
    "MFVI": [2.6, 2.7, 2.5],
    "LA": [600.0, 601.0, 602.0],
}


@pytest.fixture(scope="module")
def result():
    """Return five methods by NLL on one data set, one of them far out."""
    (benchmark,) = benchmarks(runs_of(SCORES))
    return judged(benchmark, "nll")


def test_rows_are_means_with_their_intervals_the_best_first(result):
    forest = of_scores(result, "here")
    assert [row.name for row in forest.rows] == ["IVON", "AdamW", "SGD", "MFVI", "LA"]
    assert [row.text for row in forest.rows] == ["1.90", "2.10", "2.40", "2.60", "601"]
    first = forest.rows[0]
    half = 4.302653 * 0.1 / 3**0.5  # Student's t with 2 degrees of freedom
    assert (first.low, first.middle, first.high) == pytest.approx((1.9 - half, 1.9, 1.9 + half))
    places = [forest.at(row.middle) for row in forest.rows]
    assert places == sorted(places)
    assert forest.better == "left"


def test_the_outlier_lies_beyond_the_edge_and_the_others_fill_the_axis(result):
    forest = of_scores(result, "here")
    assert [forest.beyond(row) for row in forest.rows] == ["", "", "", "", "right"]
    assert forest.at(forest.rows[-1].low) == WIDTH
    others = [forest.at(row.middle) for row in forest.rows[:-1]]
    assert others[-1] - others[0] > WIDTH / 3
    assert all(tick < 10 for tick in forest.ticks)


def test_a_short_figure_keeps_the_plain_network_or_the_named_method(result):
    assert [r.name for r in of_scores(result, "here", 1).rows] == ["AdamW"]
    short = of_scores(result, "here", 2, ("MFVI",))
    assert [row.name for row in short.rows] == ["IVON", "MFVI"]
    assert short.left_out == 3


def test_a_value_that_no_axis_reaches_costs_no_page():
    (benchmark,) = benchmarks(runs_of({"AdamW": [-1.7e308], "SGD": [1.7e308], "IVON": [1.0]}))
    forest = of_scores(judged(benchmark, "nll"), "here")
    assert [0 <= forest.at(row.middle) <= WIDTH for row in forest.rows] == [True] * 3
    assert forest.ticks


def test_one_method_is_no_figure():
    (benchmark,) = benchmarks(runs_of({"AdamW": [1.0, 2.0]}))
    assert of_scores(judged(benchmark, "nll"), "here") is None


def test_ranks_are_drawn_with_their_intervals():
    of = ranked()
    forest = of_ranks(of)
    assert [(r.name, r.low, r.middle, r.high) for r in forest.rows] == [
        (p.method, p.low, p.rank, p.high) for p in of.places
    ]
    assert forest.better == "left"


def opened(tmp_path, runs):
    """Return a suite's content and its first page."""
    keep(tmp_path, runs)
    found = content(read(tmp_path))
    return found, render(found)


def test_a_suite_opens_with_its_methods_by_score_before_any_sentence(tmp_path):
    _, page = opened(tmp_path, runs_of(SCORES))
    names = re.findall(r'<th scope="row">(\w+)</th><td', page[: page.index("</figure>")])
    assert names == ["IVON", "AdamW", "SGD", "MFVI", "LA"]
    assert page.index('class="forest"') < page.index("The answer in short")


def test_over_several_sets_it_opens_with_the_decision_over_them(tmp_path):
    sets = ("boston", "energy", "yacht", "naval")
    runs = [run for name in sets for run in runs_of(SCORES, dataset=name, suite="uci")]
    found, page = opened(tmp_path, runs)
    (forest,) = found.parts[0].opening.forests
    expected = ranks(found.benchmarks, "nll")
    assert [row.name for row in forest.rows] == [place.method for place in expected.places]
    assert "Mean rank by NLL over 4 data sets" in page


def test_of_two_sets_each_has_a_figure(tmp_path):
    runs = [run for name in ("boston", "energy") for run in runs_of(SCORES, dataset=name)]
    found, _ = opened(tmp_path, runs)
    titles = [forest.title for forest in found.parts[0].opening.forests]
    assert titles == ["NLL (nats), boston", "NLL (nats), energy"]
