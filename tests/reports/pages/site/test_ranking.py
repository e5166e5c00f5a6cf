"""Rankings and advice for the runs in docs/bundle and for artificial ones."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bnnbench.reports.pages.site.advice import advice
from bnnbench.reports.pages.site.ranking import no_better_than_constants, ranked
from bnnbench.reports.pages.site.site import tasks_of
from bnnbench.reports.read.benchmarks import benchmarks
from docs.generate import finished_runs
from tests.records import changed
from tests.reports.pages.site.stores import photographs, regressions
from tests.reports.synthetic import record


@pytest.fixture(scope="module")
def tasks():
    return {task.name: task for task in finished_runs.tasks()}


@pytest.fixture
def troubled():
    rng = np.random.default_rng(0)
    runs = {"uci": benchmarks(regressions(rng)), "cifar10": benchmarks(photographs(rng))}
    return {task.question.kind: task for task in tasks_of(runs)}


SMALL = "regression-under-1-000-rows-5-splits-as-declared"


def test_five_methods_have_the_margins_and_errors_of_the_specification():
    """M, SE and ν of paired differences of the specification's scores, computed independently.

    Five methods are not moderated.
    """
    scores = pd.read_csv(Path(__file__).parent / "specification.csv")
    runs = [
        record(
            *(row.method, row.dataset, row.fold),
            suite="uci",
            scores={"clean": {"log_likelihood": row.log_likelihood}},
            target={"name": "price", "unit": "$", "mean": 0.0, "std": 1.0},
        )
        for row in scores.itertuples()
    ]
    (task,) = tasks_of({"uci": benchmarks(runs)})
    found = ranked(task, "likelihood")
    expected = {
        "Laplace KFAC": (0.000876, 0.0166624664322, 4.0685685187),
        "Ensemble": (0.0468826666667, 0.0765385349791, 4.69966820075),
        "AdamW": (0.100261333333, 0.0779190065186, 4.36192244095),
        "SWAG": (0.209156, 0.0425984374309, 9.66224732024),
    }
    first = found.standings.names.index("Laplace diagonal")
    assert len(found.rows) == 1 + len(expected)
    for row in found.rows[1:]:
        k = found.standings.names.index(row.method)
        mean, error, freedom = tuple(a[k, first] for a in found.standings.errors)
        assert row.margin == pytest.approx(mean, rel=1e-9)
        assert (mean, error**0.5, freedom) == pytest.approx(expected[row.method], rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize(
    ("task", "criterion"),
    [
        (SMALL, "likelihood"),
        (SMALL, "error"),
        (SMALL, "calibration"),
        ("regression-3-000-to-57-000-rows-as-declared", "likelihood"),
        ("regression-3-000-to-57-000-rows-as-declared", "error"),
        ("classification-under-shift-3-000-photographs-corrupted-as-declared", "calibration"),
        ("active-learning-20-rows-9-more-acquired-as-declared", "likelihood"),
        ("active-learning-20-rows-9-more-acquired-as-declared", "error"),
    ],
)
def test_the_first_has_the_best_mean_over_the_data_sets(tasks, task, criterion):
    found = ranked(tasks[task], criterion)
    by_set = tasks[task].scores[criterion]
    means = {
        row.method: np.mean(
            [
                np.mean([found.scale.lowered(score) for score in of[row.method].values()])
                for of in by_set.values()
            ]
        )
        for row in found.compared
    }
    assert len(means) > 4
    assert found.rows[0].method == min(means, key=means.get)


@pytest.mark.long
def test_two_splits_decide_nothing(tasks):
    found = ranked(tasks["regression-3-000-to-57-000-rows-as-declared"], "likelihood")
    assert {row.standing.state for row in found.compared} == {""}
    assert advice(found).headline == "PCA+ESS (SI) has the best mean; nothing is decided."
    assert "Two splits are too few" in advice(found).text


@pytest.mark.long
def test_conditions_of_the_same_fits_are_averaged_before_they_are_compared(tasks):
    task = tasks["classification-under-shift-60-000-digits-rotated-as-declared"]
    names = [column.name for column in task.columns]
    found = ranked(task, "likelihood", names[:1])
    twice = replace(task, columns=(task.columns[0], replace(task.columns[0], name="again")))
    for part in ("scores",):
        copied = {c: {**of, "again": of[names[0]]} for c, of in task.scores.items()}
        twice = replace(twice, **{part: copied})
    for part in ("seconds", "keys", "barred"):
        by_column = getattr(task, part)
        twice = replace(twice, **{part: {**by_column, "again": by_column[names[0]]}})
    again = ranked(twice, "likelihood")
    assert np.allclose(again.standings.errors.squared_error, found.standings.errors.squared_error)


@pytest.mark.long
def test_calibration_alone_recommends_nobody_who_is_worse_by_likelihood(tasks):
    task = tasks["classification-640-to-10-240-digits-3-000-photographs-as-declared"]
    found = ranked(task, "calibration")
    assert found.rows[0].method == "SGD"
    assert advice(found).headline == "Use Ensemble (tempered): not shown to be best."
    assert "SGD, IVON and MC dropout have a lower calibration error" in advice(found).text


@pytest.mark.long
def test_a_method_at_chance_is_no_better_than_a_constant(tasks):
    task = tasks["classification-under-shift-3-000-photographs-corrupted-as-declared"]
    found = ranked(task, "calibration")
    assert no_better_than_constants(found, "Radial")
    assert not no_better_than_constants(found, "Ensemble")


def test_troubled_methods_are_named_and_not_compared(troubled):
    found = ranked(troubled["regression"], "likelihood")
    apart = {row.method: row.standing.excluded.reason for row in found.rows if row.margin is None}
    assert apart == {"MFVI": "one of five runs diverged", "PBP": "has two of five runs"}
    assert found.missing == {"SWAG": ("yacht",)}
    assert "Training mean" not in [row.method for row in found.rows]
    without = [c.name for c in troubled["regression"].columns if "yacht" not in c.benchmark]
    assert "SWAG" in [
        row.method for row in ranked(troubled["regression"], "likelihood", without).rows
    ]


def test_fits_that_did_not_converge_are_compared_and_named(troubled):
    task = troubled["regression"]
    everywhere = ranked(task, "likelihood")
    assert "IVON" in [row.method for row in everywhere.compared]
    told = "Counted by score, though they did not converge: {} fits of IVON."
    assert told.format(3) in advice(everywhere).text
    without = [c.name for c in task.columns if "yacht" not in c.benchmark]
    assert told.format(2) in advice(ranked(task, "likelihood", without)).text


def test_identical_scores_have_one_place(troubled):
    rows = {row.method: row for row in ranked(troubled["regression"], "likelihood").rows}
    assert rows["AdamW"].margin == rows["Laplace"].margin
    assert rows["AdamW"].standing == rows["Laplace"].standing


def test_a_budget_leaves_out_what_takes_longer(troubled):
    everyone = ranked(troubled["regression"], "likelihood")
    cheap = ranked(troubled["regression"], "likelihood", budget=2)
    slowest = max(row.seconds for row in cheap.rows)
    plain = next(row.seconds for row in cheap.rows if row.method == "AdamW")
    assert slowest <= 2 * plain < max(row.seconds for row in everyone.rows)


def test_a_much_cheaper_equal_method_is_advised(troubled):
    """Methods that certainly differ by a thousandth of a nat; the second is ten times cheaper."""
    runs = [
        r
        for r in regressions(np.random.default_rng(0))
        if r.method in ("AdamW", "Ensemble", "Training mean")
    ]
    level = {"AdamW": 1.001, "Ensemble": 1.0}
    runs = [
        r
        if r.method == "Training mean"
        else changed(
            r,
            scores={
                "clean": {**r.outcome.scores["clean"], "log_likelihood": -level[r.method] - r.fold}
            },
            cost=replace(r.cost, fit_cpu_seconds=10.0 if r.method == "Ensemble" else 1.0),
        )
        for r in runs
    ]
    runs = [
        replace(r, cost=replace(r.cost, fit_cpu_seconds=0.1)) if r.method == "Training mean" else r
        for r in runs
    ]
    (task,) = tasks_of({"uci": benchmarks(runs)})
    found = advice(ranked(task, "likelihood"))
    assert found.headline == "Use AdamW: as good as any on these three data sets."
    assert found.text.startswith(
        "It is within 0.02 nats an example of Ensemble, which has the best"
    )
    assert "for 1 s a fit instead of 10 s." in found.text


def test_nobody_is_advised_where_no_method_is_left(troubled):
    task = troubled["regression"]
    empty = replace(task, families={"Training mean": task.families["Training mean"]})
    assert advice(ranked(empty, "likelihood")).headline == "No method was run on all of these."


def test_one_method_is_alone(troubled):
    task = troubled["regression"]
    alone = replace(task, families={"IVON": task.families["IVON"]})
    assert advice(ranked(alone, "likelihood")).headline == "IVON alone was compared."


def test_names_in_the_answer_are_in_the_states_that_it_says(troubled):
    found = ranked(troubled["classification"], "likelihood")
    text = advice(found).text
    (open_,) = [part for part in text.split(". ") if "cannot be told" in part]
    assert all(method in open_ for method in found.of("undecided"))
    assert "with 3 seeds" in open_


def test_splits_that_differ_between_data_sets_are_told_as_a_span():
    records = regressions(np.random.default_rng(0))
    fewer = [r for r in records if r.dataset != "energy" or r.fold < 3]
    for kept, words in ((records, "5 splits"), (fewer, "3 to 5 splits")):
        (task,) = tasks_of({"uci": benchmarks(kept)})
        assert f"with {words} of each data set." in advice(ranked(task, "likelihood")).text


@pytest.mark.long
def test_an_interval_that_does_not_reach_zero_is_of_a_worse_method(tasks):
    beyond = 0
    for task in tasks.values():
        for scale in task.scales:
            for row in ranked(task, scale.name).compared:
                if row.low is not None and row.low > 0:
                    assert row.standing.worse, (task.name, scale.name, row.method)
                    beyond += 1
    assert beyond > 100
