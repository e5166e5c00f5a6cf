"""Errors of propagated moments by layer, from artificial runs, next to printed ones."""

import csv
import io

import pytest

from bnnbench.commands.report import main
from bnnbench.reports.judge.table import Cell
from bnnbench.reports.pages.exports.tables import printed, tidy
from bnnbench.reports.pages.report.content import content
from bnnbench.reports.papers.published import table
from bnnbench.reports.papers.reproduction import comparisons
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.load import read
from bnnbench.reports.sections.suites.layers import Layered, layer_drawings, layer_table
from bnnbench.reports.style.palette import styles
from tests.reports.first_pages import render
from tests.reports.synthetic import keep, record

LAYERS = ("1_CA", "2_C", "3_A", "4_C", "5_A", "6_F")
CASE, TITLE = "mnist-lrelu0.01-noise0.1", "LeNet, LReLU, noise 0.1"
PROBE = {
    "type": "moment_accuracy",
    "images": 20,
    "samples": 400,
}
CLAIM = ({"paper": "001", "table": "2", "departures": ["of ours"]},)
FLOOR = 0.04


def run(method="AP2 paper", seed=0, layers=LAYERS, probe=PROBE, **changes):
    """Return a run whose error of μ is 0.1 per layer, and of σ its inverse."""
    scores = {"first_100_rows": {"accuracy": 0.95, "nll": 0.2}}
    deviations = method != "AP1"
    for depth, name in enumerate(layers, 1):
        errors = {"eps_mu": 0.1 * depth + 0.01 * seed, "eps_mu_floor": FLOOR}
        if deviations:
            errors |= {"eps_sigma": 1 / depth, "excluded_share": 0.25 * (name == "3_A")}
        scores[f"layer_{name}"] = errors
    names = ("softmax_simplified", "softmax_full") if deviations else ("softmax",)
    for k, name in enumerate(names if probe is PROBE else ()):
        scores[name] = {"kl_class_posterior": 1e-5 * (k + 1), "kl_floor": 1e-6}
    described = {
        "probes": [probe],
        "source": {"type": "mnist"},
    }
    fields = {"scores": scores, "run": described, "suite": "moment_accuracy", "title": TITLE}
    return record(method, changes.pop("dataset", CASE), seed=seed, **fields | changes)


def of(*records):
    (found,) = map(Layered, benchmarks(records))
    return found


def cells(found, row):
    shown = layer_table(found)
    (mine,) = [one for one in shown.rows if one.method == row]
    return {c.name: e for c, e in zip(shown.columns, mine.cells, strict=True)}


def means(found, row):
    return {name: e.mean for name, e in cells(found, row).items() if isinstance(e, Cell)}


def test_rows_are_methods_and_errors_and_columns_are_layers_and_divergences():
    found = of(run("AP1"), run("AP2 paper"))
    shown = layer_table(found)
    assert [column.heading for column in shown.columns] == [
        *("1 conv + act", "2 conv", "3 act", "4 conv", "5 act", "6 last", "KL", "KL′"),
    ]
    assert [row.method for row in shown.rows] == [
        *("AP1, ε of μ", "AP2 paper, ε of μ", "AP2 paper, ε of σ"),
        *("floor of ε of μ and KL", "share of units without ε of σ"),
    ]
    alone = means(found, "AP1, ε of μ")
    assert alone["4 conv"] == pytest.approx(0.4)
    assert alone["KL"] == pytest.approx(1e-5)
    assert cells(found, "AP1, ε of μ")["KL′"] == ""
    assert means(found, "AP2 paper, ε of μ")["KL′"] == pytest.approx(2e-5)
    assert means(found, "AP2 paper, ε of σ") == {
        name: pytest.approx(1 / (k + 1)) for k, name in enumerate(list(alone)[:6])
    }
    floor = means(found, "floor of ε of μ and KL")
    assert (floor["5 act"], floor["KL′"]) == (FLOOR, 1e-6)
    assert means(found, "share of units without ε of σ")["3 act"] == 0.25


def test_an_error_is_the_mean_over_seeds_with_its_standard_error():
    found = of(*(run("AP2", seed) for seed in range(3)))
    cell = cells(found, "AP2, ε of μ")["2 conv"]
    assert (cell.runs, cell.mean) == (3, pytest.approx(0.21))
    assert cell.standard_error == pytest.approx(0.01 / 3**0.5)


def test_small_divergences_are_shown_in_digits_of_their_own():
    shown = layer_table(of(run("AP1"), run("AP2")))
    places = {column.name: column for column in shown.columns}
    assert printed(Cell(0.000012345, None, 1), places["KL"]) == ("1.2e-05", "")
    assert printed(Cell(5.09, None, 1), places["KL′"]) == ("5.1", "")
    assert printed(Cell(0.5, 0.005, 2, 0.01), places["2 conv"]) == ("0.500", "0.010")


def test_layers_are_in_the_order_of_the_network():
    names = tuple(f"{k}_{'C' if k % 2 else 'A'}" for k in range(1, 13))
    headings = [column.name for column in layer_table(of(run(layers=names))).columns]
    assert headings[8:12] == ["9 conv", "10 act", "11 conv", "12 act"]


def test_what_the_paper_prints_stands_beneath():
    found = of(run("AP1", reproduces=CLAIM), run("AP2 paper", reproduces=CLAIM))
    shown = [row.method for row in layer_table(found).rows]
    assert shown[:2] == ["AP1, ε of μ", "AP1, ε of μ (printed)"]
    # Paper 001, table 2, LReLU, noise 0.1.
    alone = means(found, "AP1, ε of μ (printed)")
    assert list(alone.values()) == [0.31, 0.74, 0.51, 1.47, 1.11, 1.60, 5.09]
    both = means(found, "AP2 paper, ε of μ (printed)")
    assert list(both.values()) == [0.03, 0.04, 0.05, 0.06, 0.07, 0.10, 0.07, 0.03]
    assert list(means(found, "AP2 paper, ε of σ (printed)").values()) == [
        *(1.12, 0.99, 1.09, 0.75, 0.65, 0.79),
    ]


def test_the_printed_moments_are_beside_those_of_the_same_formulas_alone():
    shown = layer_table(of(run("AP2", reproduces=CLAIM)))
    assert not [row for row in shown.rows if "printed" in row.method]


def test_without_a_claim_nothing_printed_is_shown():
    assert not [row for row in layer_table(of(run("AP1"))).rows if "printed" in row.method]


def test_runs_of_other_samples_are_another_table():
    other = PROBE | {"samples": 900}
    found = list(map(Layered, benchmarks([run("AP1"), run("AP2", probe=other)])))
    assert [list(one.methods) for one in found] == [["AP1"], ["AP2"]]
    assert "400 samples of each of 20 test images" in found[0].explanation
    assert found[0].benchmark.title != found[1].benchmark.title


def test_statistics_of_a_data_set_are_explained_without_samples_and_have_no_divergence():
    probe = {"type": "dataset_statistics"}
    name, claim = "mnist-lrelu0.01-statistics", ({"paper": "001", "table": "4"},)
    layers = ("1_C", "2_A", "3_C", "4_A", "5_C", "6_A", "7_F")
    label = "AP2 paper, init BN"
    found = of(run(label, layers=layers, probe=probe, dataset=name, reproduces=claim))
    assert "all training inputs" in found.explanation
    assert "KL" not in [column.name for column in layer_table(found).columns]
    # Paper 001, table 4, LReLU, init BN.
    sigma = means(found, f"{label}, ε of σ (printed)")
    assert list(sigma.values()) == [0.89, 1.20, 1.04, 1.22, 1.28, 1.47, 1.49]


def test_a_benchmark_without_layers_has_no_table():
    (found,) = map(Layered, benchmarks([record("AdamW")]))
    assert not found.layers


def test_what_was_measured_is_no_test_condition():
    (benchmark,) = benchmarks([run("AP1"), run("AP2")])
    assert benchmark.conditions == ("first_100_rows",)


def test_printed_divergences_keep_their_digits():
    noise = "mnist-lrelu0.01-noise0.0001"
    rows = {(r.method, r.condition): r for r in table("001", "2") if r.dataset == noise}
    printed = rows["ap2 paper", "softmax_full"]
    assert (printed.value, printed.decimals) == (3.8e-7, 8)
    assert (rows["ap1", "softmax"].value, rows["ap1", "softmax"].decimals) == (1.4e-6, 7)


def test_printed_errors_are_compared_with_ours():
    (benchmark,) = benchmarks([run("AP1", reproduces=CLAIM), run("AP2 paper", reproduces=CLAIM)])
    found = {(c.method, c.condition, c.published.metric): c for c in comparisons(benchmark)}
    assert len(found) == 7 + 6 + 6 + 2
    one = found["AP2 paper", "layer_4_C", "eps_sigma"]
    assert (one.mean, one.published.value) == (0.25, 0.75)
    assert one.departures == ("of ours",)


def test_a_drawing_has_a_line_for_each_method_and_marks_where_something_is_printed():
    plain, marked = (
        of(run("AP1", **c), run("AP2 paper", **c)) for c in ({}, {"reproduces": CLAIM})
    )
    method_styles = styles(["AP1", "AP2 paper"])
    drawn = layer_drawings(plain, method_styles, "a", "MNIST")
    assert [drawing.heading for drawing in drawn] == ["ε of μ, MNIST", "ε of σ, MNIST"]
    assert "AP1 from 0.1 to 0.6" in drawn[0].svg
    assert "AP1" not in drawn[1].svg  # has only means
    assert [drawing.caption for drawing in drawn] == ["", ""]
    with_marks = layer_drawings(marked, method_styles, "a", "MNIST")
    assert [drawing.caption for drawing in with_marks] == ["marks: printed"] * 2
    for before, after in zip(drawn, with_marks, strict=True):
        assert after.svg.count("<use") > before.svg.count("<use")


def test_an_error_of_zero_leaves_a_gap_and_no_harm():
    exact = run("AP2")
    exact.outcome.scores["layer_2_C"]["eps_mu"] = 0.0
    assert len(layer_drawings(of(exact), styles(["AP2"]), "a", "MNIST")) == 2


def test_the_page_and_the_files_show_it(tmp_path):
    records = [run(m, s, reproduces=CLAIM) for m in ("AP1", "AP2 paper") for s in range(2)]
    keep(tmp_path / "moment_accuracy", records)
    assert main([str(tmp_path)]) == 0
    page = (tmp_path / "moment_accuracy" / "report.html").read_text()
    for text in ("layer by layer", "Moments by layer", "(printed)", "LeNet, LReLU, noise 0.1"):
        assert text in page
    found = content(read(tmp_path / "moment_accuracy"))
    assert render(found)
    rows = csv.DictReader(io.StringIO(tidy(found.tables)))
    values = {(r["method"], r["heading"]): r["mean"] for r in rows}
    assert float(values["AP1, ε of μ", "3 act"]) == pytest.approx(0.305)
