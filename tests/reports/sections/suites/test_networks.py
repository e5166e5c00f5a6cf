"""Networks for the same rows, side by side."""

from dataclasses import replace

import numpy as np
import pytest

from bnnbench.commands.report import main
from bnnbench.commands.suite import command
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.parts import Inside
from bnnbench.datasets.generated.curves import Cubic, Sine
from bnnbench.engine.declare.case import Case, cases_of
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.engine.store.data_points import Curve
from bnnbench.engine.store.store import Store
from bnnbench.methods.networks.architectures import Linear
from bnnbench.reports.figures.bands import Band
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.sections.suites.networks import (
    Panel,
    draw_networks,
    drawings,
    explanation,
    families,
)
from bnnbench.reports.style.palette import Style, styles
from tests.records import changed
from tests.suites.fakes import Diverging, Line, Mean

SUITE = Suite(
    name="toy",
    title="Two networks",
    profile="depth",
    cases=(
        Case(Sine(), (Linear(1),), "sine-2", "sine, 2 linear layers"),
        Case(Sine(), (Linear(2), Linear(1)), "sine-3", "sine, 3 linear layers"),
        Case(Cubic(), ()),
    ),
    methods={"Mean": Mean(), "Lost": Diverging()},
    evaluations=(Evaluation(Clean(), ("rmse",)), Evaluation(Inside(), ("rmse",))),
)


@pytest.fixture
def store(tmp_path) -> Store:
    return carried_out(tmp_path)


def carried_out(folder, suite=SUITE) -> Store:
    command(
        {"depth": suite},
        ["--out", str(folder), "--no-report", "--executor", "serial", "--in-process"],
    )
    return Store(folder / suite.name)


def test_sources_of_the_same_rows_are_a_family_and_others_are_not(store):
    (family,) = families(store, benchmarks(store.current()))
    assert [benchmark.dataset for benchmark in family] == ["sine-2", "sine-3"]


@pytest.mark.parametrize("sources", [(Sine(), Cubic()), (Line("a"), Line("b"))])
def test_other_rows_or_several_inputs_make_no_family(tmp_path, sources):
    suite = replace(SUITE, cases=cases_of(sources, ()), evaluations=SUITE.evaluations[:1])
    store = carried_out(tmp_path, suite)
    assert families(store, benchmarks(store.current())) == []


def test_a_method_has_one_drawing_and_one_without_predictions_none(store):
    (family,) = families(store, benchmarks(store.current()))
    (drawing,) = drawings(store, family, styles(["Mean", "Lost"]), "p0")
    assert drawing.heading == "Mean"
    scores = {
        r.dataset: r.outcome.scores["inside"]["rmse"] for r in store.current() if r.method == "Mean"
    }
    assert f"sine, 2 linear layers: RMSE {scores['sine-2']:.3f}" in drawing.svg
    assert f"sine, 3 linear layers: RMSE {scores['sine-3']:.3f}" in drawing.svg
    assert "same training points" in explanation(family)


def test_a_network_without_prediction_says_why_in_its_place(store):
    kept = [r for r in store.current() if (r.method, r.dataset) == ("Mean", "sine-3")]
    store.rewrite(changed(kept[0], status="diverged", error="lost"))
    (family,) = families(store, benchmarks(store.current()))
    (drawing,) = drawings(store, family, styles(["Mean", "Lost"]), "p0")
    assert "sine, 3 linear layers: diverged" in drawing.svg


def test_a_run_that_is_not_converged_is_marked(store):
    for record in store.current():
        store.rewrite(changed(record, diagnostics={"converged": float(record.dataset == "sine-2")}))
    (family,) = families(store, benchmarks(store.current()))
    (drawing,) = drawings(store, family, styles(["Mean", "Lost"]), "p0")
    assert drawing.svg.count("not converged") == 2  # shown once, stated once


@pytest.mark.long
def test_the_page_shows_the_family_once_and_other_data_as_before(tmp_path, store):
    assert main([str(tmp_path)]) in (0, 3)
    page = (tmp_path / "toy" / "report.html").read_text()
    assert page.partition("<main")[2].count("Networks on the same rows") == 1
    assert "Predictions, cubic" in page
    assert "Predictions, sine" not in page


def test_panels_share_their_range_and_a_missing_band_leaves_one_empty():
    x = np.linspace(-1, 1, 9)
    curve = Curve(np.array([-0.5, 0.5]), np.array([0.0, 1.0]), x, x**2)
    band = Band(x, np.full(9, 0.1))
    panels = [Panel("one", band, ""), Panel("two", None, "failed")]
    drawing = draw_networks("A", curve, panels, Style("#123456"), "a", (-2.0, 2.0))
    assert drawing.svg.count("#123456") == 2  # a band and a mean
    for text in ("one", "two", "failed"):
        assert text in drawing.svg


def test_training_points_are_one_path_in_every_panel():
    x, inputs = np.linspace(-1, 1, 9), np.random.default_rng(0).uniform(-1, 1, 200)
    panels = [Panel(name, None, "") for name in ("one", "two")]
    curve = Curve(inputs, inputs, x, x**2)
    drawing = draw_networks("A", curve, panels, Style("#123456"), "a", (-2.0, 2.0))
    assert [path.count("h0") for path in drawing.svg.split("<path") if "h0" in path] == [200, 200]
