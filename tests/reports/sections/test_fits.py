"""The figure of predictions over a single input."""

import re
from dataclasses import replace

import numpy as np
import pytest

from bnnbench.commands.report import main
from bnnbench.commands.suite import command
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.generated.curves import Cubic, CubicGap
from bnnbench.engine.declare.case import Case, cases_of
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.engine.store.data_points import Curve
from bnnbench.engine.store.store import Store
from bnnbench.reports.figures.bands import Band, draw_band, limits
from bnnbench.reports.pages.report.content import content
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.load import read
from bnnbench.reports.sections.fits import panels
from bnnbench.reports.style.palette import Style, styles
from tests.records import changed
from tests.suites.fakes import Diverging, Line, Mean, Together

SUITE = Suite(
    name="curves",
    title="A curve",
    profile="quick",
    cases=(Case(Cubic(), ()),),
    methods={"Mean": Mean(), "Lost": Diverging(), "Truth": Together()},
    evaluations=(Evaluation(Clean(), ("rmse",)),),
    folds=2,
    reference="Truth",
)
X = np.linspace(-6, 6, 7)
CURVE = Curve(np.array([-1.0, 2.0]), np.array([-3.0, 9.0]), X, X**3)


def carried_out(folder, suite=SUITE) -> Store:
    command(
        {"quick": suite},
        ["--out", str(folder), "--no-report", "--executor", "serial", "--in-process"],
    )
    return Store(folder / suite.name)


def drawn(store: Store):
    (benchmark,) = benchmarks(store.current())
    return panels(store, benchmark, styles(benchmark.runs), "p0-0", "cubic")


@pytest.mark.long
def test_each_completed_method_has_a_panel_the_reference_first(tmp_path):
    found = drawn(carried_out(tmp_path))
    assert [d.heading for d in found.drawings] == ["Truth", "Mean"]
    assert found.reference == "Truth"
    assert "Truth" in found.explanation


@pytest.mark.long
def test_distances_stand_first_of_what_is_shown_for_all_data_sets(tmp_path):
    store = carried_out(tmp_path, replace(SUITE, cases=cases_of((Cubic(), CubicGap()), ())))
    distances, *_ = content(read(store.folder)).parts[0].tables
    cells = {row.method: row.cells for row in distances.rows}
    for column, dataset in enumerate(("cubic", "cubic_gap")):
        of_mean = [r for r in store.current() if (r.method, r.dataset) == ("Mean", dataset)]
        expected = np.mean([r.outcome.scores["clean"]["wasserstein2"] for r in of_mean])
        assert cells["Mean"][column].mean == pytest.approx(expected)
    assert cells["Truth"] == ("not scored",) * 2


def test_the_panels_say_what_the_records_say(tmp_path):
    store = carried_out(tmp_path)
    (mean,) = [r for r in store.current() if (r.method, r.fold) == ("Mean", 0)]
    truth, other = drawn(store).drawings
    assert truth.caption == "the reference"
    numbers = [float(text) for text in re.findall(r"\d[\d.e-]*", other.caption.replace("W2", ""))]
    scores = mean.outcome.scores["clean"]
    expected = [scores["wasserstein2"], scores["kl_from_reference"]]
    assert numbers == pytest.approx(expected, rel=0.005)
    (prediction, _) = store.predictions(mean.key)["clean"]
    std = mean.circumstances.target["std"] * prediction.variance.sqrt().mean().item()
    assert f"Mean standard deviation {std:.3g}, of the reference" in str(other.svg)


def test_a_run_that_is_not_converged_is_marked(tmp_path):
    store = carried_out(tmp_path)
    for record in store.current():
        store.rewrite(changed(record, diagnostics={"converged": float(record.method == "Mean")}))
    truth, other = drawn(store).drawings
    assert truth.caption == "the reference, not converged"
    assert "not converged" not in other.caption


def test_without_reference_there_are_panels_and_no_dashes(tmp_path):
    found = drawn(carried_out(tmp_path, replace(SUITE, reference=None)))
    assert found.reference is None
    assert {d.heading for d in found.drawings} == {"Mean", "Truth"}
    assert not any("stroke-dasharray" in d.svg for d in found.drawings)
    assert "taken for the truth" not in found.explanation


def test_several_inputs_have_no_panels(tmp_path):
    assert drawn(carried_out(tmp_path, replace(SUITE, cases=(Case(Line(), ()),)))) is None


@pytest.mark.long
@pytest.mark.parametrize("file", ["curves/*.npz", "runs/*/predictions.npz"])
def test_damaged_files_cost_the_figure_and_not_the_page(tmp_path, file):
    store = carried_out(tmp_path)
    for path in store.folder.glob(file):
        path.write_bytes(path.read_bytes()[:100])
    assert drawn(store) is None
    assert main([str(tmp_path)]) in (0, 3)


def test_the_page_shows_the_figure_and_the_distances_with_their_units(tmp_path):
    carried_out(tmp_path)
    assert main([str(tmp_path)]) == 0
    page = (tmp_path / "curves" / "report.html").read_text()
    assert "Predictions, cubic (generated)" in page
    table = (tmp_path / "curves" / "tables.md").read_text()
    assert "W2 to the reference" in table
    assert "KL from the reference" in table
    assert "nats" in table


def test_the_range_holds_points_truth_and_bands_and_leaves_out_what_is_infinite():
    wide = Band(np.zeros(7), np.full(7, 100.0))
    low, high = limits(CURVE, [wide])
    assert low < -300 < 300 < high
    broken = Band(np.zeros(7), np.array([*[1.0] * 6, np.inf]))
    low, high = limits(CURVE, [broken])
    assert -240 < low < -216 < 216 < high < 240


def test_a_drawing_has_the_band_at_three_standard_deviations():
    band = Band(X.copy(), np.full(7, 2.0))
    np.testing.assert_array_equal(band.ends[0], X - 6)
    np.testing.assert_array_equal(band.ends[1], X + 6)
    one = draw_band("A", CURVE, band, None, Style("#123456"), "a", "cubic", (-9.0, 9.0), "")
    two = draw_band("A", CURVE, band, band, Style("#123456"), "a", "cubic", (-9.0, 9.0), "")
    assert one.svg.count("stroke-dasharray") == 0
    assert two.svg.count("stroke-dasharray") == 2


def test_an_input_that_is_the_same_in_every_row_is_drawn_without_a_warning():
    curve = replace(CURVE, test_inputs=np.zeros(7))
    band = Band(X**3, np.ones(7))
    assert draw_band("A", curve, band, None, Style("#123456"), "a", "cubic", (-9.0, 9.0), "").svg
