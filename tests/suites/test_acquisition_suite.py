"""Active learning: suites of methods and strategies, and their command line."""

import json
from dataclasses import replace

import pytest

from bnnbench.datasets.cuts.pool import ActivePool
from bnnbench.engine.declare.acquisition import Acquisition
from bnnbench.engine.declare.case import Case
from tests.suites.commands import FAST, call, rows, times
from tests.suites.fakes import Line
from tests.suites.pools import ACTIVE, RANDOM, RUN, suite


def test_the_acquisition_is_part_of_what_a_run_is():
    plain = replace(RUN, acquisition=None)
    keys = {
        replace(RUN, acquisition=a).key for a in (ACTIVE, RANDOM, None, replace(ACTIVE, batch=2))
    }
    assert len(keys) == 4
    assert "acquisition" not in plain.description
    json.dumps(RUN.description)


def test_every_method_takes_part_with_every_arm():
    runs = list(suite().runs())
    labels = ["Mean-A", "Mean-R", "Together-A", "Together-R"]
    assert list(dict.fromkeys(run.label for run in runs)) == labels
    assert len(runs) == 4 * 4
    assert [e.condition.name for e in suite().final_evaluations] == ["acquired_3"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"acquisitions": {"A": ACTIVE, "R": ACTIVE}}, "strategies have the same rule"),
        ({"acquisitions": {"A-1": ACTIVE}}, "or contain '-'"),
        ({"acquisitions": {"A": ACTIVE, "R": Acquisition("random", 5)}}, "equal numbers of rounds"),
        ({"cases": (Case(Line(), ()),)}, r"needs pools \(`ActivePool`\); line is not one"),
    ],
)
def test_a_suite_that_cannot_be_carried_out_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        suite(**changes)


POOLED = replace(
    FAST,
    cases=(Case(ActivePool(Line(), train=6, test=5, repeats=3), ()),),
    acquisitions={"R": Acquisition("random", rounds=3), "A": Acquisition("variance", rounds=3)},
    folds=3,
)


def test_active_learning_runs_both_arms_of_any_method_and_shows_the_last_round(tmp_path):
    answer = call(tmp_path, "--methods", "marginal", suite=POOLED)
    assert answer.code == 0
    assert "6 training and 5 test rows, a pool of 13, 3 folds" in answer.output
    assert "acquired_3" in answer.output
    assert "acquired_2" not in answer.output
    found = rows(tmp_path)
    assert {row["method"] for row in found} == {"marginal-A", "marginal-R"}
    assert {row["condition"] for row in found} == {f"acquired_{count}" for count in range(4)}
    before = times(tmp_path)
    assert (
        "6 finished earlier, 0 to do"
        in call(tmp_path, "--methods", "marginal", suite=POOLED).output
    )
    assert times(tmp_path) == before


def test_a_limit_on_a_pool_leaves_it_a_pool(tmp_path):
    answer = call(tmp_path, "--limit", "4", "--folds", "1", suite=POOLED)
    assert answer.code == 0
    assert "line: subset, 4 training and 4 test rows, a pool of 16" in answer.output


def test_more_acquisitions_than_the_pool_has_rows_are_a_mistake_with_a_cure(tmp_path):
    greedy = replace(POOLED, acquisitions={"A": Acquisition("variance", rounds=3, batch=5)})
    answer = call(tmp_path, suite=greedy)
    assert answer.code == 2
    assert "has 13 rows in its pool, but 15 are to be acquired" in answer.errors
    assert "Traceback" not in answer.errors
    assert not times(tmp_path)  # reported before anything is fitted
