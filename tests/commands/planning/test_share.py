"""Several drivers on one plan."""

from dataclasses import replace

import pytest

from bnnbench.commands.planning.plan import plan
from bnnbench.commands.planning.share import Share
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.outcomes import lost
from bnnbench.engine.store.leases import Leases
from bnnbench.engine.store.store import Store
from tests.suites.fakes import Mean, Together
from tests.suites.miniature import QUICK

SUITE = replace(QUICK, methods={"Mean": Mean(), "Together": Together()}, folds=4)


class Audience:
    """Records its events."""

    def __init__(self):
        self.runs, self.lines = 0, []

    def passed_over(self, runs):
        self.runs += len(runs)

    def note(self, line):
        self.lines.append(line)


@pytest.fixture
def drivers(tmp_path):
    """Two drivers that made their plans before either started."""
    stores = [Store(tmp_path / "store") for _ in range(2)]
    with Leases(tmp_path / "leases") as one, Leases(tmp_path / "leases") as other:
        yield [
            Share(plan(SUITE, store, "cpu"), store, leases, Audience())
            for store, leases in zip(stores, (one, other), strict=True)
        ]


def test_two_drivers_in_turns_do_every_run_once(drivers):
    done: list[str] = []
    left = [share.tasks() for share in drivers]
    while left:
        for share, tasks in zip(drivers, list(left), strict=False):
            task = next(tasks, "over")
            if task == "over":
                left.remove(tasks)
            elif task is not None:
                share.keep(execute(task))
                done += [run.key for run in task.runs]
    assert sorted(done) == sorted(run.key for run in SUITE.runs())
    assert sum(share._audience.runs for share in drivers) == len(done)


def test_what_another_has_is_waited_for_and_said_once(drivers):
    one, other = drivers
    hers = list(one.tasks())
    his = other.tasks()
    assert [next(his), next(his)] == [None, None]
    assert len(other._audience.lines) == 1
    assert other._audience.lines[0].startswith("Waiting for 8 runs of process ")
    for task in hers:
        one.keep(execute(task))
    assert list(his) == []
    assert other._audience.runs == 8


def test_what_another_gave_up_is_taken_over(drivers):
    one, other = drivers
    task = next(one.tasks())
    his = other.tasks()
    taken = [next(his) for _ in range(4)]
    assert next(his) is None
    for run in task.runs:
        one._leases.release(run.key)
    assert next(his) == task
    assert task not in taken


def test_a_run_that_failed_elsewhere_is_not_tried_again_by_those_who_waited(drivers):
    one, other = drivers
    for task in one.tasks():
        one.keep(lost(task, "killed"))
    assert list(other.tasks()) == []
    store = other._store
    assert plan(SUITE, store, "cpu").left == 8  # by the next command it is


def test_a_driver_that_was_taken_for_dead_leaves_what_others_did(drivers):
    one, other = drivers
    task = next(one.tasks())
    assert other._leases._reap(one._leases._driver)
    assert next(other.tasks()) == task
    other.keep(execute(task))
    (key,) = (run.key for run in task.runs)
    before = other._store.read(key)
    one.keep(execute(task))
    assert Store(one._store.folder).read(key) == before


def test_a_driver_that_was_taken_for_dead_keeps_what_nobody_did(drivers):
    one, other = drivers
    task = next(one.tasks())
    assert other._leases._reap(one._leases._driver)
    one.keep(execute(task))
    (key,) = (run.key for run in task.runs)
    assert other._store.read(key).outcome.status == "completed"


def test_two_that_repeat_finished_runs_repeat_each_once(drivers):
    one, other = drivers
    for task in one.tasks():
        one.keep(execute(task))
    again = [plan(SUITE, one._store, "cpu", refit="all") for _ in range(2)]
    one, other = (
        Share(planned, share._store, share._leases, Audience())
        for planned, share in zip(again, drivers, strict=True)
    )
    for task in one.tasks():
        one.keep(execute(task))
    assert list(other.tasks()) == []
