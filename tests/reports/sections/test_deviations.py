"""Propagated deviations next to deviations of draws, from artificial runs."""

import math

import pytest

from bnnbench.reports.pages.report.content import content
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.load import read
from bnnbench.reports.sections.deviations import RATIO, draw_deviations, ratios_of
from tests.reports.first_pages import render
from tests.reports.synthetic import keep, record

RATIOS = {"PBP": (1.0, 1.0), "PBP 2 layers": (0.7, 0.8), "PBP 3 layers": (0.4, 0.5)}


def runs():
    return [
        record(method, seed=seed, diagnostics={RATIO: ratio})
        for method, ratios in RATIOS.items()
        for seed, ratio in enumerate(ratios)
    ] + [record("AdamW", seed=seed) for seed in (0, 1)]


def test_methods_whose_moments_are_exact_or_unchecked_are_left_out():
    (benchmark,) = benchmarks(runs())
    ratios = ratios_of(benchmark, ["AdamW", "PBP 3 layers", "PBP", "PBP 2 layers"])
    assert list(ratios.items()) == [("PBP 3 layers", [0.4, 0.5]), ("PBP 2 layers", [0.7, 0.8])]


@pytest.mark.parametrize("changes", [{"status": "failed"}, {"diagnostics": {RATIO: math.nan}}])
def test_runs_without_a_ratio_are_no_points(changes):
    broken = record("PBP 2 layers", seed=9, **{"diagnostics": {RATIO: 0.1}} | changes)
    (benchmark,) = benchmarks([*runs(), broken])
    assert ratios_of(benchmark, ["PBP 2 layers"]) == {"PBP 2 layers": [0.7, 0.8]}


def test_the_figure_says_the_means_in_words():
    drawn = draw_deviations({m: RATIOS[m] for m in ("PBP 2 layers", "PBP 3 layers")}, "f", "Boston")
    assert "PBP 2 layers 0.75; PBP 3 layers 0.45" in drawn.svg
    assert drawn.heading == "Boston"


def test_the_page_has_it_where_a_method_checks_its_moments(tmp_path):
    for name, records, shown in (("with", runs(), True), ("without", runs()[-2:], False)):
        keep(tmp_path / name, records)
        page = render(content(read(tmp_path / name)))
        assert ("Moments beside draws" in page) is shown
