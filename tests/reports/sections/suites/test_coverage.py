"""Coverage far from the data, for networks with artificial predictions."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import ndtri

from bnnbench.commands.report import main
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.generated.curves import Sine, SineFar
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.description import describe
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.engine.store.data_points import keep_curves
from bnnbench.engine.store.store import Store
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.metrics.credible import MASSES
from bnnbench.reports.judge.summaries.coverage import covered
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.sections.suites.coverage import (
    coverage_drawings,
    coverage_table,
    draw_coverage,
)
from bnnbench.reports.style.palette import Style, styles
from tests.reports.synthetic import keep, record
from tests.suites.fakes import Mean

NETWORKS = 20
# The cdf of network k at the truth, if it is calibrated.
LEVELS = (np.arange(NETWORKS) + 0.5) / NETWORKS
SECTIONS = tuple(
    {"paper": "000", "table": name, "departures": ["of ours"]} for name in ("sec 5.1", "App C")
)


def network(source, k: int, fold: int = 0, method="Right", left=1.0, **changes):
    """Return the record and predictions of network k: calibrated on the right, with `left` times
    the error on the left."""
    data = source.load(fold)
    std = torch.full_like(data.truth, 0.3)
    far_left = data.test.inputs < data.train.inputs.min() - 1
    shift = torch.where(far_left, left, 1.0) * float(ndtri(LEVELS[k]))
    predictive = GaussianPredictive((data.truth - shift * std)[None], std.square()[None])
    target = {"name": "y", "unit": "", "mean": data.target.mean, "std": data.target.std}
    kept = record(
        method, source.name, fold, k, {"clean": {"rmse": 1.0}}, target=target, origin="generated",
        run={"source": describe(source)}, **changes,
    )  # fmt: skip
    return kept, {"clean": (predictive, data.test.targets)}


def stored(folder, runs, source=None) -> Store:
    source = source or SineFar()
    evaluations = (Evaluation(Clean(), ("rmse",)),)
    suite = Suite("toy", "", (Case(source, ()),), {"Mean": Mean()}, evaluations, folds=3)
    keep_curves(suite, Store(folder))
    records = [kept for kept, _ in runs]
    return keep(folder, records, {kept.key: predictions for kept, predictions in runs})


def of(store: Store):
    return covered(store, benchmarks(store.current()))


def by_heading(table):
    """Return the first row's cells by the headings of their columns."""
    headings = [column.heading for column in table.columns]
    return dict(zip(headings, table.rows[0].cells, strict=True))


def test_networks_that_claim_what_they_should_cover_as_much_as_they_claim(tmp_path):
    store = stored(tmp_path, [network(SineFar(), k) for k in range(NETWORKS)])
    (found,) = of(store)
    (fold,) = found.folds["Right"]
    assert fold.networks == NETWORKS
    distances = np.abs(LEVELS[:, None] - 0.5)
    ties = np.isclose(distances, MASSES / 2).any(0)
    expected = (distances < MASSES / 2).mean(0)
    for curve in (fold.curve.negative, fold.curve.positive):
        np.testing.assert_allclose(curve[~ties], expected[~ties], atol=1e-9)
    cells = by_heading(coverage_table(found))
    assert cells["Correlation, both sides"].mean == pytest.approx(1, abs=0.005)
    assert cells["|Coverage − mass|, x > 10"].mean == pytest.approx(0, abs=1 / NETWORKS)
    assert cells["1σ, x > 10"].mean == pytest.approx(0.68, abs=0.03)
    assert cells["2σ, x < −10"].mean == pytest.approx(0.95, abs=0.051)


def test_the_sides_are_not_mixed_up(tmp_path):
    runs = [network(SineFar(), k, left=1e3) for k in range(NETWORKS)]
    (found,) = of(stored(tmp_path, runs))
    cells = by_heading(coverage_table(found))
    assert cells["1σ, x < −10"].mean == 0
    assert cells["1σ, x > 10"].mean == pytest.approx(0.68, abs=0.03)
    assert cells["|Coverage − mass|, x < −10"].mean > 0.4
    assert cells["|Coverage − mass|, x > 10"].mean < 1 / NETWORKS


def test_each_data_set_counts_once(tmp_path):
    runs = [network(SineFar(), k, fold) for fold in range(3) for k in range(5)]
    (found,) = of(stored(tmp_path, runs))
    assert [fold.networks for fold in found.folds["Right"]] == [5, 5, 5]
    cell = coverage_table(found).rows[0].cells[0]
    assert (cell.runs, cell.standard_error) == (3, pytest.approx(0, abs=1e-12))
    assert "averaged over 3 data sets" in found.explanation


def test_a_coverage_that_never_changes_has_no_correlation(tmp_path):
    runs = [network(SineFar(), k, method="Wrong") for k in (2, 3)]
    for _, predictions in runs:
        predictive, targets = predictions["clean"]
        predictions["clean"] = (replace(predictive, means=predictive.means + 1e3), targets)
    (found,) = of(stored(tmp_path, runs))
    cells = by_heading(coverage_table(found))
    assert cells["Correlation, both sides"] == "constant"
    assert cells["3σ, x > 10"].mean == 0
    (drawing,) = coverage_drawings(found, styles(["Wrong"]), "c", "sine")
    assert drawing.caption == "no correlation: constant"


def test_what_the_paper_prints_stands_in_a_row_of_its_own(tmp_path):
    method = "MP"
    runs = [network(SineFar(), k, method=method, reproduces=SECTIONS) for k in range(4)]
    (found,) = of(stored(tmp_path, runs))
    assert found.departures == ["of ours"]
    table = coverage_table(found)
    ours, theirs = table.rows
    assert (ours.method, theirs.method) == (method, "MP (printed)")
    assert theirs.runs == 100
    # Paper 000, section 5.1: 61, 86, 93 %; 36, 68, 90 %. Appendix C: .96, .99 and .9.
    printed = [cell if isinstance(cell, str) else cell.mean for cell in theirs.cells]
    assert printed[:6] == [0.61, 0.86, 0.93, 0.36, 0.68, 0.9]
    assert printed[6:] == [0.96, 0.99, 0.9, "not printed", "not printed"]
    (drawing,) = coverage_drawings(found, styles([method]), "c", "sine")
    assert "marks: printed" in drawing.caption


def test_without_a_claim_nothing_printed_is_shown(tmp_path):
    (found,) = of(stored(tmp_path, [network(SineFar(), k) for k in range(4)]))
    assert found.printed == ()
    assert len(coverage_table(found).rows) == 1


@pytest.mark.parametrize(("source", "seeds"), [(Sine(), 4), (SineFar(), 1)])
def test_a_grid_near_the_data_or_a_single_network_has_no_coverage(tmp_path, source, seeds):
    assert of(stored(tmp_path, [network(source, k) for k in range(seeds)], source)) == []


def test_networks_that_cannot_be_read_are_left_out(tmp_path):
    runs = [network(SineFar(), k) for k in range(4)]
    store = stored(tmp_path, runs)
    (store.runs / runs[0][0].key / "predictions.npz").write_bytes(b"PK")
    (found,) = of(store)
    assert found.folds["Right"][0].networks == 3


def test_the_page_and_the_tables_show_it(tmp_path):
    stored(tmp_path / "toy", [network(SineFar(), k, reproduces=SECTIONS) for k in range(4)])
    assert main([str(tmp_path)]) == 0
    page = (tmp_path / "toy" / "report.html").read_text()
    for text in ("Coverage far outside", "contain the observation noise", "(printed)", "of ours"):
        assert text in page
    assert "coverage of the true function" in (tmp_path / "toy" / "tables.md").read_text()


def test_a_drawing_has_a_line_for_each_side_and_marks_where_something_is_printed():
    curves = {"negative": MASSES**2, "positive": MASSES}
    marks = {"negative": [(0.68, 0.61)], "positive": []}
    style = Style("#123456")
    plain = draw_coverage("A", MASSES, curves, {}, style, "a", "sine", "")
    marked = draw_coverage("A", MASSES, curves, marks, style, "a", "sine", "")
    assert plain.svg.count("stroke-dasharray") == 1
    assert "At mass 0.50: negative x 0.25; positive x 0.50" in plain.svg
    assert len(marked.svg) > len(plain.svg)
