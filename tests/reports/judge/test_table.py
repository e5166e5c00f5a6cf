"""The numbers of the tables, compared with numpy, SciPy and calculations by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from bnnbench.reports.judge.table import Cell
from bnnbench.reports.pages.captions import column_captions
from bnnbench.reports.pages.exports.tables import notes
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.facts import networks
from bnnbench.reports.sections.condition_tables import condition_table, overview
from tests.reports.synthetic import record, runs_of


def table(records, condition="clean"):
    (benchmark,) = benchmarks(records)
    return condition_table(benchmark, condition, list(benchmark.runs))


def states(records, metric="nll"):
    found = table(records)
    at = [column.name for column in found.columns].index(metric)
    return {row.method: row.cells[at].standing.state for row in found.rows}


def cell(records, method, metric="nll"):
    found = table(records)
    at = [column.name for column in found.columns].index(metric)
    (row,) = [row for row in found.rows if row.method == method]
    return row.cells[at]


def test_a_cell_is_the_mean_with_its_standard_error_and_interval_over_seeds():
    values = [1.0, 1.5, 1.1, 0.7]
    found = cell(runs_of({"AdamW": values}), "AdamW")
    assert found.mean == pytest.approx(np.mean(values))
    assert found.standard_error == pytest.approx(np.std(values, ddof=1) / 2)
    assert found.half_width == pytest.approx(stats.t.ppf(0.975, 3) * stats.sem(values))
    assert (found.runs, found.replicates) == (4, 4)


def test_one_run_has_no_interval():
    found = cell(runs_of({"AdamW": [1.0]}), "AdamW")
    assert found.standard_error is None
    assert found.half_width is None


def test_seeds_of_a_fold_count_as_one_replicate():
    values = {(0, 0): 1.0, (0, 1): 3.0, (1, 0): 5.0, (1, 1): 5.0, (2, 0): 0.0, (2, 1): 1.0}
    records = [record(fold=f, seed=s, scores={"clean": {"nll": v}}) for (f, s), v in values.items()]
    found = cell(records, "AdamW")
    assert found.mean == pytest.approx(2.5)
    assert found.standard_error == pytest.approx(stats.sem([2.0, 5.0, 0.5]))
    widening = math.sqrt(1 + 3 * 100 / 900)  # the overlap of training sets
    expected = stats.t.ppf(0.975, 2) * stats.sem([2.0, 5.0, 0.5]) * widening
    assert found.half_width == pytest.approx(expected)
    assert (found.runs, found.replicates) == (6, 3)


def test_seeds_of_one_fold_are_compared_by_the_paired_t_test():
    rng = np.random.default_rng(0)
    best = rng.normal(1.0, 0.3, 6)
    rival = best + rng.normal(0.05, 0.05, 6)
    found = cell(runs_of({"SGD": best, "AdamW": rival}), "AdamW").standing
    assert found.adjusted_p == pytest.approx(stats.ttest_rel(rival, best).pvalue)
    assert found.freedom == 5


def test_folds_are_compared_by_the_t_test_corrected_for_overlap():
    # d and its p-value: the test vector of Nadeau and Bengio's test, with ratio 1/9.
    d = [0.21, 0.05, -0.04, 0.2, 0.15, 0.1, 0.09, -0.06, 0.16, 0.14]
    facts = {"train_rows": 900, "test_rows": 100}
    records = [
        record(method, fold=fold, scores={"clean": {"nll": 1.0 + extra}}, facts=facts)
        for fold, gap in enumerate(d)
        for method, extra in (("SGD", 0.0), ("AdamW", gap))
    ]
    found = cell(records, "AdamW").standing
    assert found.adjusted_p == pytest.approx(0.0437416109, abs=1e-9)
    assert (found.state, found.witness) == ("worse", "SGD")
    assert cell(records, "SGD").standing.state == "best"


def test_folds_that_were_generated_share_no_rows_and_need_no_correction():
    gaps = [0.21, 0.05, -0.04, 0.2, 0.15]
    made = {"origin": "generated", "condition_origins": {"clean": "generated"}}
    records = [
        record(method, fold=fold, scores={"clean": {"nll": 1.0 + extra}},
               facts={"train_rows": 900, "test_rows": 100}, **made)
        for fold, gap in enumerate(gaps)
        for method, extra in (("SGD", 0.0), ("AdamW", gap))
    ]  # fmt: skip
    expected = stats.ttest_1samp(gaps, 0.0).pvalue
    assert cell(records, "AdamW").standing.adjusted_p == pytest.approx(expected)


def test_a_close_method_is_undecided_and_a_far_one_is_worse():
    rng = np.random.default_rng(2)
    best = rng.normal(1, 0.1, 10)
    scores = {"SGD": best, "AdamW": best + rng.normal(0.005, 0.1, 10), "MFVI": best + 1}
    found = states(runs_of(scores))
    assert sorted(found.values()) == ["leads", "undecided", "worse"]
    assert found["MFVI"] == "worse"


def test_methods_within_the_margin_are_practically_equal():
    rng = np.random.default_rng(2)
    best = rng.normal(1, 0.1, 10)
    scores = {"SGD": best, "AdamW": best + 0.004 + rng.normal(0, 0.001, 10), "MFVI": best + 1}
    assert states(runs_of(scores)) == {"SGD": "best", "AdamW": "equal", "MFVI": "worse"}
    assert cell(runs_of(scores), "AdamW").standing.worse  # by a small but certain amount


@pytest.mark.parametrize(("metric", "best"), [("nll", "AdamW"), ("accuracy", "SGD")])
def test_the_metric_decides_which_direction_is_better(metric, best):
    found = states(runs_of({"AdamW": [0.1] * 3, "SGD": [0.9] * 3}, metric), metric)
    assert [method for method, state in found.items() if state == "best"] == [best]


def test_a_diagnostic_has_no_best_method():
    found = table(runs_of({"AdamW": [0.1] * 3, "SGD": [0.9] * 3}, "entropy"))
    (benchmark,) = benchmarks(runs_of({"AdamW": [0.1] * 3, "SGD": [0.9] * 3}, "entropy"))
    minor = condition_table(benchmark, "clean", list(benchmark.runs), minor=True)
    assert [c.name for c in found.columns if c.kind == "score"] == []
    assert {row.cells[0].standing.state for row in minor.rows} == {""}


def test_two_runs_are_not_tested_and_the_table_says_so():
    records = runs_of({"AdamW": [1.0, 1.1], "SGD": [1.0, 1.2]})
    assert set(states(records).values()) == {""}
    ((_, text),) = column_captions(table(records))
    assert text == "AdamW has the lowest NLL (1.05 nats); with two runs nothing was tested."


def test_folds_of_unknown_size_are_not_tested():
    records = [
        record(m, fold=f, scores={"clean": {"nll": 1.0 + f / 10 + k}}, facts={})
        for f in range(5)
        for k, m in enumerate(("AdamW", "SGD"))
    ]
    (column,) = table(records).decisions
    assert "rows" in column.decision.untested
    assert cell(records, "SGD").half_width is None


def test_only_runs_that_all_have_are_compared():
    first = {s: 1.0 + s / 10 for s in range(5)}
    second = {s: 2.0 + s / 7 for s in range(1, 5)}
    records = [
        record(method, seed=seed, scores={"clean": {"nll": value}})
        for method, values in (("AdamW", first), ("SGD", second))
        for seed, value in values.items()
    ]
    expected = stats.ttest_rel([second[s] for s in second], [first[s] for s in second])
    assert cell(records, "SGD").standing.adjusted_p == pytest.approx(expected.pvalue)
    assert cell(records, "AdamW").mean == pytest.approx(np.mean(list(first.values())))


def test_equal_methods_are_one_candidate():
    records = runs_of({"AdamW": [1.0, 2.0, 3.0], "SGD": [1.0, 2.0, 3.0]})
    assert set(states(records).values()) == {""}
    ((_, text),) = column_captions(table(records))
    assert text == "AdamW and SGD have the same NLL in every run (2.0 nats)."


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_score_that_is_not_finite_is_shown_and_never_best(bad):
    records = runs_of({"AdamW": [1.0, bad, 1.0], "SGD": [5.0, 5.1, 5.2]})
    found = cell(records, "AdamW")
    assert not math.isfinite(found.mean)
    assert found.standard_error is None
    assert found.standing.excluded.letter == "n"
    assert cell(records, "SGD").standing.state == ""


def test_diverged_runs_lower_the_success_rate_and_enter_no_mean():
    records = [*runs_of({"AdamW": [1.0, 2.0]}), record(seed=2, scores={}, status="diverged")]
    (row,) = table(records).rows
    assert (row.runs, row.completed) == (3, 2)
    assert row.success == pytest.approx(2 / 3)
    assert row.cells[0].mean == pytest.approx(1.5)


def test_a_method_missing_on_a_data_set_is_shown_as_missing():
    records = [record("AdamW", "boston"), record("AdamW", "yacht"), record("SGD", "yacht")]
    boston, yacht = benchmarks(records)
    methods = ["AdamW", "SGD"]
    tables = [condition_table(b, "clean", methods) for b in (boston, yacht)]
    joined = overview("nll", [boston, yacht], tables, methods)
    assert tables[0].rows[1].cells[0] == "no run"
    assert joined.rows[1].cells[0] == "no run"
    assert isinstance(joined.rows[1].cells[1], Cell)
    assert [column.heading for column in joined.columns] == ["boston", "yacht"]


def test_a_metric_that_only_some_methods_have_leaves_gaps():
    records = [
        record("AdamW", scores={"clean": {"nll": 1.0, "brier": 0.3}}),
        record("SGD", scores={"clean": {"nll": 1.0}}),
    ]
    assert cell(records, "SGD", "brier") == "not scored"


def test_runs_with_other_settings_under_one_label_are_kept_apart():
    slow = record(seed=0, settings={"learning_rate": 0.1})
    fast = record(seed=1, settings={"learning_rate": 0.9})
    (benchmark,) = benchmarks([slow, fast])
    assert sorted(benchmark.runs) == ["AdamW (learning_rate=0.1)", "AdamW (learning_rate=0.9)"]


def test_profiles_origins_and_networks_are_never_averaged_together():
    network = {"architecture": [{"type": "linear", "outputs": 3}]}
    records = [
        record(),
        record(profile="paper"),
        record(origin="subset", run={"source": {"type": "x:Limited"}}),
        record(run=network),
    ]
    found = benchmarks(records)
    assert len(found) == 4
    assert len({(b.profile, b.origin, b.title) for b in found}) == 4


def test_a_column_in_target_units_names_the_unit_of_the_target():
    target = {"name": "output", "unit": "MW", "mean": 0.0, "std": 1.0}
    records = [record(scores={"clean": {"rmse": 4.0, "crps": 2.0}}, target=target)]
    units = {column.name: column.unit for column in table(records).columns}
    assert units["rmse"] == units["crps"] == "MW"


def test_a_method_with_a_network_of_its_own_stands_among_the_others():
    tanh = [{"type": "tanh"}]
    own = {"architecture": tanh, "own_architecture": True}
    records = [record("AdamW"), record("LA", run=own), record("SGD", profile="paper", run=own)]
    paper, quick = benchmarks(records)
    assert list(quick.runs) == ["AdamW", "LA"]
    assert quick.setting == ""
    assert list(paper.runs) == ["SGD"]
    assert networks([quick]) == {
        "CIFAR-10": ["Linear(outputs=10)"],
        "LA on CIFAR-10": ["Tanh()"],
    }


def test_an_own_network_does_not_join_networks_apart():
    own = {"architecture": [], "own_architecture": True}
    other = {"architecture": [{"type": "relu"}]}
    found = benchmarks([record("AdamW"), record("SGD", run=other), record("LA", run=own)])
    assert sorted(list(b.runs) for b in found) == [["AdamW"], ["LA"], ["SGD"]]


def test_methods_of_other_programs_say_by_whom_and_when_and_have_no_cost():
    said = {"by": "Ada", "code": "gp.py", "cost": "", "file": "a.csv", "file_sha256": "0"}
    days = [f"2026-01-0{day}T00:00:00+00:00" for day in (3, 1)]
    theirs = [
        record(
            "GP",
            seed=seed,
            cost=None,
            elsewhere=said,
            provenance={"finished": day},
            settings={"type": "scored_elsewhere"},
        )
        for seed, day in enumerate(days)
    ]
    found = table([record("AdamW"), record("AdamW", seed=1), *theirs])
    assert found.elsewhere == ("GP, by Ada on 2026-01-01 to 2026-01-03, code: gp.py",)
    assert found.own_networks == ()
    (row,) = [row for row in found.rows if row.method == "GP"]
    cells = {c.name: e for c, e in zip(found.columns, row.cells, strict=True)}
    assert cells["fit_seconds"] == "unknown"
    score = cells["nll"]
    assert isinstance(score, Cell)
    assert score.standing.excluded is None


def test_methods_that_are_not_networks_are_named_below_every_table():
    settings = {"Boosting": {"type": "ngboost"}, "Tuned forest": {"type": "tuned"}}
    settings["Tuned forest"] |= {"method": {"type": "forest_density"}}
    settings |= {"TabPFN": {"type": "tabpfn"}, "AdamW": {"type": "adamw"}}
    records = [
        record(method, dataset, settings=settings[method])
        for dataset, methods in {"cifar10": ["AdamW", "Boosting"], "mnist": [*settings]}.items()
        for method in methods
    ]
    lines = ("Not a network: Boosting, Tuned forest", "Pretrained on tables: TabPFN")
    first, second = benchmarks(records)
    methods = ["AdamW", "Boosting", "Tuned forest", "TabPFN"]
    tables = [condition_table(one, "clean", methods) for one in (first, second)]
    assert [each.yardsticks for each in tables] == [("Not a network: Boosting",), lines]
    joined = overview("nll", [first, second], tables, methods)
    assert joined is not None
    assert joined.yardsticks == lines
    assert f"{lines[0]}." in notes(joined)
