"""Histograms of outputs next to propagated moments, from artificial runs."""

import numpy as np
import pytest

from bnnbench.datasets.conditions import condition_names
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.reports.pages.report.content import content
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.load import read
from bnnbench.reports.sections.suites.outputs import Output, draw_outputs, outputs_of
from bnnbench.reports.style.palette import styles
from tests.reports.first_pages import render
from tests.reports.synthetic import keep, record

LEVELS = np.array([0.05, 0.5, 0.95])
METHODS = {"AP1": None, "AP2": 0.5}


def run(method, seed, **changes):
    scores, traits = {"clean": {"accuracy": 0.9}}, {}
    for number in range(2):
        moments = {"propagated_mean": number + 0.1}
        if METHODS[method]:
            moments["propagated_std"] = METHODS[method]
        name = condition_names.output(number)
        scores[name], traits[name] = moments, Traits(f"output {number}", output=number)
        for level in LEVELS:
            name = condition_names.output_quantile(number, level)
            scores[name] = {"sampled_quantile": number + seed + level}
            traits[name] = Traits(name, output=number, level=level)
    described = {name: one.as_data() for name, one in traits.items()}
    made = record(method, seed=seed, scores=scores, **changes)
    made.circumstances.condition_traits.update(described)
    return made


def runs():
    return [run(method, seed) for seed in (1, 0) for method in METHODS]


def test_outputs_are_grouped_by_seed_and_hold_all_methods():
    (benchmark,) = benchmarks(runs())
    found = outputs_of(benchmark, ["AP1", "AP2"])
    assert list(found) == [0, 1]
    for seed, outputs in found.items():
        assert [output.number for output in outputs] == [0, 1]
        for output in outputs:
            assert output.levels.tolist() == LEVELS.tolist()
            assert output.quantiles == pytest.approx(output.number + seed + LEVELS)
            assert output.moments == {
                "AP1": (output.number + 0.1, None),
                "AP2": (output.number + 0.1, 0.5),
            }


def test_runs_that_failed_have_no_part():
    failed = run("AP2", 2, status="failed")
    (benchmark,) = benchmarks([*runs(), failed])
    assert list(outputs_of(benchmark, ["AP1", "AP2"])) == [0, 1]


def test_the_figure_says_samples_and_moments_in_words():
    output = Output(3, LEVELS, np.array([-1.0, 0.25, 2.0]), {"AP1": (0.5, None), "AP2": (0.2, 1.1)})
    drawn = draw_outputs([output], styles(["AP1", "AP2"]), "f", "LeNet, seed 0")
    said = "3 sampled -1.00 to 2.00, median 0.25; AP1 0.50, AP2 0.20 ± 1.10"
    assert said in drawn.svg
    assert drawn.heading == "LeNet, seed 0"


def test_samples_that_are_all_alike_have_no_bars_but_a_figure():
    output = Output(0, LEVELS, np.zeros(3), {"AP1": (0.5, None)})
    assert "sampled 0.00 to 0.00" in draw_outputs([output], styles(["AP1"]), "f", "here").svg


def test_the_page_has_a_figure_for_each_seed(tmp_path):
    keep(tmp_path, runs())
    page = render(content(read(tmp_path)))
    assert "Outputs for one image" in page
    assert page.partition("<main")[2].count("samples and propagated moments") == 2
