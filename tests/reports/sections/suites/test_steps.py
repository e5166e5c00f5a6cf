"""Schedules side by side, from artificial runs."""

import csv
import io
import math

import pytest

from bnnbench.engine.records.cost import Cost
from bnnbench.reports.figures.canvas import drawing
from bnnbench.reports.figures.ticks import logarithmic
from bnnbench.reports.pages.exports.tables import tidy
from bnnbench.reports.pages.report.content import content
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.load import read
from bnnbench.reports.sections.suites.steps import compares_steps, step_drawings, step_tables
from bnnbench.reports.style.palette import KNOWN, Style, styles
from tests.reports.drawings import groups
from tests.reports.first_pages import render
from tests.reports.synthetic import keep, record

SCHEDULES = {"MP groups of 8": (7680.0, 0.3, 0.0), "MP coupled 64": (960.0, 0.2, 1.0)}
"""method → steps, score, guard events of seed 0"""


def fit(method, seed, **changes):
    fields = {"scores": {"clean": {"accuracy": 0.9, "nll": 0.25, "ece": 0.02}}, "dataset": "mnist"}
    if method in SCHEDULES:
        steps, nll, events = SCHEDULES[method]
        # A seed with a guard event took more steps.
        steps, events = steps + 60 * seed * events, events * seed
        scores = {"accuracy": 1 - nll / 4, "nll": nll + 0.01 * seed, "ece": nll / 10}
        fields["diagnostics"] = {"serial_steps": steps, "guard_events": events}
        fields["scores"] = {"clean": scores}
        fields["cost"] = Cost(steps / 100, 0.1, 2.0**24)
    return record(method, seed=seed, **fields | changes)


def runs(*methods, seeds=3):
    return [fit(method, seed) for method in methods for seed in range(seeds)]


def drawn(records):
    (benchmark,) = benchmarks(records)
    return step_drawings(benchmark, styles(benchmark.runs), "p0-steps", "MNIST")


def markers(figure, method):
    """Return the elements of a method that place a marker."""
    return [use for group in groups(figure.svg, method) for use in group.iter("use")]


def test_the_table_has_means_over_seeds_beside_steps_and_seconds():
    records = runs("AdamW", *SCHEDULES)
    (table,) = step_tables(benchmarks(records), ["AdamW", *SCHEDULES])
    names = [column.name for column in table.columns]
    assert names == ["serial_steps", "guard_events", "accuracy", "nll", "ece", "fit_seconds"]
    cells = {row.method: dict(zip(names, row.cells, strict=True)) for row in table.rows}
    coupled = {name: cell.mean for name, cell in cells["MP coupled 64"].items()}
    # Seeds 0, 1, 2: 960, 1020, 1080 steps; 0, 1, 2 events; NLL 0.20, 0.21, 0.22.
    assert coupled == pytest.approx({
        "serial_steps": 1020, "guard_events": 1, "accuracy": 0.95, "nll": 0.21, "ece": 0.02,
        "fit_seconds": 10.2,
    })  # fmt: skip
    assert cells["AdamW"]["serial_steps"] == "not scored"
    assert cells["AdamW"]["nll"].mean == pytest.approx(0.25)


def test_every_run_is_a_point_and_who_counts_no_steps_is_a_line():
    figures = drawn(runs("AdamW", *SCHEDULES))
    assert [figure.heading for figure in figures] == ["NLL, MNIST", "Accuracy, MNIST"]
    for figure in figures:
        for method in SCHEDULES:
            assert len(markers(figure, method)) == 3
        assert not markers(figure, "AdamW")
        assert len(groups(figure.svg, "AdamW")) == 1
    assert "AdamW 0.250 at the line" in figures[0].svg
    assert "MP coupled 64 0.210 at 1,020" in figures[0].svg


def test_runs_that_diverged_or_score_nothing_finite_are_no_points():
    lost = fit("MP coupled 64", 1, status="diverged", scores={})
    odd = fit("MP coupled 64", 2, scores={"clean": {"nll": math.inf}})
    kept = [*runs("MP groups of 8"), fit("MP coupled 64", 0), lost, odd]
    (figure,) = [f for f in drawn(kept) if f.heading.startswith("NLL")]
    assert len(markers(figure, "MP coupled 64")) == 1


@pytest.mark.parametrize(
    "records",
    [
        runs("AdamW", "IVON"),
        runs("AdamW", "MP coupled 64"),
        [
            fit(name, 0, diagnostics={"serial_steps": 960.0})
            for name in ("MP coupled 64", "MP groups of 8")
        ],
        runs("AdamW", "IVON", "SGD", *SCHEDULES),
    ],
    ids=["none counts", "one counts", "equal counts", "few count"],
)
def test_nothing_appears_where_schedules_are_not_compared(records):
    (benchmark,) = benchmarks(records)
    assert not compares_steps(benchmark)
    assert step_tables([benchmark], list(benchmark.runs)) == []
    assert drawn(records) == []


def test_methods_without_guard_events_have_no_such_column():
    records = [
        fit(name, 0, diagnostics={"serial_steps": n}) for name, n in (("A", 2.0), ("B", 9.0))
    ]
    (table,) = step_tables(benchmarks(records), ["A", "B"])
    assert "guard_events" not in [column.name for column in table.columns]


def test_page_and_files_show_the_table(tmp_path):
    folder = tmp_path / "cifar10"
    keep(folder, runs("AdamW", *SCHEDULES))
    found = content(read(folder))
    text = render(found)
    assert "mnist, serial steps" in text.lower()
    assert "NLL against serial steps on MNIST, means over runs" in text
    rows = list(csv.DictReader(io.StringIO(tidy(found.tables))))
    steps = {r["method"]: r["mean"] for r in rows if r["column"] == "serial_steps"}
    assert float(steps["MP groups of 8"]) == 7680
    assert steps["AdamW"] == ""


def test_schedules_have_looks_of_their_own():
    method_styles = [style for name, style in KNOWN.items() if name.startswith("MP")]
    assert len(set(method_styles)) == len(method_styles) == 9
    assert Style("#0072b2") not in method_styles


@pytest.mark.parametrize("values", [[960.0], [480.0, 61440.0], [1.0, 1e7]])
def test_a_logarithmic_axis_holds_its_values_and_has_labels(values):
    with drawing(2.0) as figure:
        axes = figure.subplots()
        logarithmic(axes, values)
        low, high = axes.get_xlim()
        assert low < min(values) <= max(values) < high
        assert high / low >= 3.99
        assert len(axes.get_xticks()) >= 2
