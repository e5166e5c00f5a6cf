"""Active learning on the page: curves, areas and strategies compared with random acquisition."""

import csv
import io

import numpy as np
import pytest
from scipy import stats

from bnnbench.engine.declare.description import describe
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.reports.judge.table import Cell
from bnnbench.reports.pages.exports.tables import latex, markdown, printed, tidy
from bnnbench.reports.pages.report.content import content
from bnnbench.reports.papers.reproduction import comparisons
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.load import read
from bnnbench.reports.sections.suites.learning import (
    curves_by_arm,
    learning_tables,
    main_metric,
    pairs,
)
from bnnbench.reports.style.palette import styles
from tests.records import changed
from tests.reports.first_pages import render
from tests.reports.synthetic import keep, record

RULES = {"A": "variance", "R": "random", "B": "bald"}
ROUNDS = 9
TABLE_2 = ({"paper": "004", "table": "2", "departures": []},)
FACTS = {"train_rows": 20, "test_rows": 100, "pool_rows": 386}


def arm_run(method, arm, fold, values, metric="rmse", **changes):
    names = [f"acquired_{count}" for count in range(len(values))]
    scores = {name: {metric: float(v)} for name, v in zip(names, values, strict=True)}
    acquisition = {"type": "x:Acquisition", "rule": RULES[arm], "rounds": len(values) - 1}
    fields = {
        "suite": "active_learning",
        "profile": "paper",
        "dataset": "boston",
        "scores": scores,
        "run": {
            "acquisition": acquisition,
            "method": {"type": f"methods.x:{method}"},
            "architecture": describe(mlp([10], 1)),
        },
        "facts": FACTS,
        "condition_origins": dict.fromkeys(names, "original"),
        "reproduces": TABLE_2,
    }
    return record(f"{method}-{arm}", fold=fold, **fields | changes)


def curves_of(repeats=40, seed=0):
    """Return repeats x rounds of A and of R, the latter with a heavy tail."""
    rng = np.random.default_rng(seed)
    start = 7 + rng.normal(size=(repeats, 1))
    steps = np.linspace(0, 1, ROUNDS + 1)
    active = start - 2.0 * steps + 0.2 * rng.normal(size=(repeats, ROUNDS + 1))
    random = start - 1.5 * steps + 0.2 * rng.standard_cauchy(size=(repeats, ROUNDS + 1))
    return active, random


def store_of(repeats=40, dataset="boston"):
    active, random = curves_of(repeats)
    return [
        arm_run("PBP", arm, fold, values[fold], dataset=dataset)
        for arm, values in (("A", active), ("R", random))
        for fold in range(repeats)
    ]


def tables_of(*records):
    found = benchmarks(records)
    methods = sorted({m for b in found for m in b.runs})
    return {t.title: t for t in learning_tables(found, methods)}


def entries(table):
    return {(row.method, c.heading): e for row in table.rows
            for c, e in zip(table.columns, row.cells, strict=True)}  # fmt: skip


def test_the_last_round_is_the_condition_that_tables_show():
    (benchmark,) = benchmarks(store_of())
    assert benchmark.conditions == ("acquired_9",)
    assert benchmark.main == "acquired_9"
    assert benchmark.rounds == tuple(f"acquired_{count}" for count in range(10))
    assert main_metric(benchmark) == "rmse"


def test_rounds_are_sorted_as_numbers():
    values = np.arange(12.0)
    (benchmark,) = benchmarks([arm_run("PBP", "A", 0, values)])
    assert benchmark.rounds[-1] == benchmark.main == "acquired_11"
    assert curves_by_arm(benchmark, "rmse")["PBP-A"].tolist() == [list(values)]


def test_arms_know_their_method_and_share_its_colour_with_random_dashed():
    (benchmark,) = benchmarks([
        arm_run(method, arm, 0, np.ones(3)) for method in ("PBP", "MFVI") for arm in "ARB"
    ])  # fmt: skip
    method_styles = styles(benchmark.runs, benchmark.arms)
    assert len({method_styles[f"PBP-{arm}"].colour for arm in "ARB"}) == 1
    assert method_styles["PBP-A"].colour != method_styles["MFVI-A"].colour
    assert method_styles["PBP-A"].dash == ()
    assert len({method_styles[f"PBP-{arm}"].dash for arm in "ARB"}) == 3
    assert method_styles["PBP-R"].dash == method_styles["MFVI-R"].dash == (5, 2)
    assert [method_styles[m] for m in ("PBP-R", "PBP-A")] != [
        method_styles[m] for m in ("MFVI-R", "MFVI-A")
    ]


def test_numbers_of_the_tables_are_those_computed_by_hand():
    active, random = curves_of()
    tables = tables_of(*store_of())
    last, name = "test data after 9 acquisitions", "PBP: A less R"
    cells = entries(tables[f"RMSE, {last}: median over repeats"])
    assert cells["PBP-R", "boston"].mean == pytest.approx(np.median(random[:, -1]))

    areas = [(c[:, :-1] + c[:, 1:]).sum(1) / 2 / 9 for c in (active, random)]
    cells = entries(tables["RMSE, area under the learning curve"])
    assert cells["PBP-A", "boston"].mean == pytest.approx(areas[0].mean())
    assert cells["PBP-A", "boston"].standard_error == pytest.approx(stats.sem(areas[0]))

    cells = entries(tables[f"RMSE, {last}: difference"])
    gaps = active[:, -1] - random[:, -1]
    assert cells[name, "boston"].mean == pytest.approx(gaps.mean())
    assert cells[name, "boston"].standard_error == pytest.approx(stats.sem(gaps))
    assert cells[name, "boston"].runs == 40

    cells = entries(tables["RMSE, area: difference"])
    assert cells[name, "boston"].mean == pytest.approx((areas[0] - areas[1]).mean())

    cells = entries(tables[f"RMSE, {last}: repeats that the strategy wins"])
    assert cells[name, "boston"].mean == pytest.approx((gaps < 0).mean())

    cells = entries(tables[f"RMSE, {last}: p of the signed rank test, Holm"])
    expected = stats.wilcoxon(gaps, method="asymptotic", correction=False).pvalue
    assert cells[name, "boston"].mean == pytest.approx(expected)


def test_p_values_are_adjusted_for_all_data_sets():
    one = entries(tables_of(*store_of())[P])["PBP: A less R", "boston"].mean
    both = entries(tables_of(*store_of(), *store_of(dataset="yacht"))[P])
    assert both["PBP: A less R", "boston"].mean == pytest.approx(min(1, 2 * one))
    assert both["PBP: A less R", "yacht"].mean == pytest.approx(min(1, 2 * one))


P = "RMSE, test data after 9 acquisitions: p of the signed rank test, Holm"


def test_arms_are_paired_by_repeat_and_one_that_diverged_is_in_no_pair():
    active, random = curves_of(6)
    records = [
        arm_run("PBP", arm, fold, values[fold])
        for arm, values in (("A", active), ("R", random))
        for fold in reversed(range(6))
    ]
    lost = changed(records[0], status="diverged", scores={})
    (benchmark,) = benchmarks([lost, *records[1:]])
    (pair,) = pairs(benchmark, "rmse")
    assert np.array_equal(pair.active, active[:5])
    assert np.array_equal(pair.random, random[:5])


def test_a_pair_counts_repeats_that_did_not_converge_and_not_runs():
    lost = [("A", 0), ("R", 0), ("R", 1), ("A", 3)]
    runs = [
        arm_run("PBP", arm, fold, [4.0, 3.0], diagnostics={"converged": float(gone)})
        for arm in "AR"
        for fold in range(4)
        for gone in [(arm, fold) not in lost]
    ]
    runs[3] = changed(runs[3], status="diverged", scores={})
    (benchmark,) = benchmarks(runs)
    (pair,) = pairs(benchmark, "rmse")
    assert (pair.unconverged, len(pair.active)) == (2, 3)


def test_seeds_of_a_repeat_are_one_replicate():
    active, random = curves_of(4)
    records = [
        changed(run, key=f"{run.key}{seed}", seed=seed,
                scores={c: {"rmse": s["rmse"] + seed} for c, s in run.outcome.scores.items()})
        for run in (arm_run("PBP", arm, fold, values[fold])
                    for arm, values in (("A", active), ("R", random)) for fold in range(4))
        for seed in (0, 1)
    ]  # fmt: skip
    (benchmark,) = benchmarks(records)
    (pair,) = pairs(benchmark, "rmse")
    assert np.allclose(pair.active, active + 0.5)


def test_a_higher_score_wins_where_higher_is_better():
    better, worse = np.full((3, 4), 0.9), np.full((3, 4), 0.8)
    records = [
        arm_run("Ensemble", arm, fold, values[fold], metric="accuracy", dataset="mnist")
        for arm, values in (("B", better), ("A", worse), ("R", worse))
        for fold in range(3)
    ]
    (benchmark,) = benchmarks(records)
    wins = {pair.name: pair.wins for pair in pairs(benchmark, "accuracy")}
    assert wins == {"Ensemble: A less R": 0.0, "Ensemble: B less R": 1.0}


def test_without_active_learning_there_is_nothing():
    (benchmark,) = benchmarks([record("PBP", dataset="boston")])
    assert (benchmark.arms, benchmark.rounds) == ({}, ())
    assert learning_tables([benchmark], ["PBP"]) == []


def test_repeats_are_compared_with_a_correction_for_rows_that_they_share(tmp_path):
    rng = np.random.default_rng(1)
    gaps = 1.5 + rng.normal(size=40)
    records = [
        arm_run("PBP", arm, fold, np.full(3, 5 + gap * (arm == "R")))
        for fold, gap in enumerate(gaps)
        for arm in "AR"
    ]
    keep(tmp_path / "active_learning", records)
    shown = content(read(tmp_path / "active_learning"))
    (table,) = shown.parts[0].datasets[0].filled
    found = max(row.cells[0].standing.adjusted_p or 0 for row in table.rows)
    error = gaps.std(ddof=1) * np.sqrt(1 / 40 + 120 / 386)
    assert found == pytest.approx(2 * stats.t.sf(gaps.mean() / error, 39))


def test_the_printed_number_of_an_arm_stands_beside_that_arm():
    active, _ = curves_of()
    (benchmark,) = benchmarks(store_of())
    found = {c.method: c for c in comparisons(benchmark)}
    assert found["PBP-A"].published.value == 5.480
    assert found["PBP-A"].published.spread == 0.175
    assert found["PBP-R"].published.value == 6.716
    assert found["PBP-A"].mean == pytest.approx(active[:, -1].mean())
    assert all(not c.differs and c.condition == "acquired_9" for c in found.values())


def test_a_pair_or_fewer_rounds_do_not_stand_beside_the_printed_number():
    (benchmark,) = benchmarks([r for r in store_of() if r.fold < 2])
    assert {c.differs for c in comparisons(benchmark)} == {("2 repeats, not 40",)}
    (benchmark,) = benchmarks([arm_run("PBP", "A", fold, np.ones(5)) for fold in range(40)])
    assert list(comparisons(benchmark)) == []


@pytest.fixture
def page(tmp_path):
    records = [*store_of(8), *store_of(8, "yacht")]
    folder = tmp_path / "active_learning"
    keep(folder, records)
    return content(read(folder))


def test_the_page_shows_curves_and_the_last_round_alone(page):
    text = render(page)
    assert "Learning curves" in text
    assert "RMSE after each acquisition on boston: PBP-A from" in text
    assert "RMSE, test data after 9 acquisitions" in text
    assert "acquired_3" not in text
    assert "after 3 acquisitions" not in text
    (part,) = page.parts
    assert [len(section.tables) for section in part.datasets] == [1, 1]
    assert part.other_conditions == {}


def test_the_tables_are_in_every_file(page):
    rows = list(csv.DictReader(io.StringIO(tidy(page.tables))))
    assert any("area under the learning curve" in row["table"] for row in rows)
    for text in (markdown(page.tables), latex(page.tables)):
        assert "PBP: A less R" in text


def test_a_tiny_p_value_is_not_printed_as_zero():
    (table,) = (t for title, t in tables_of(*store_of()).items() if "signed rank" in title)
    column = table.columns[0]
    assert printed(Cell(3e-9, None, 40), column) == ("< 0.0001", "")
    assert printed(Cell(0.0312, None, 40), column) == ("0.0312", "")
