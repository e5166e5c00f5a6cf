"""Tasks and their retries, without any process."""

from dataclasses import replace

from bnnbench.engine.run.task import Task
from bnnbench.engine.workers.base import ATTEMPTS, MOVES, Lost, RetryQueue, Silent
from tests.suites.small_store import RUN

RUNS = tuple(replace(RUN, seed=seed) for seed in range(3))
FIRST, SECOND = Task(RUNS, ()), Task(RUNS[:1], ())
LOST = Lost("killed by signal 9")


class Noted(Silent):
    """A watcher that records lost tasks."""

    def __init__(self):
        self.told = []

    def lost(self, task, reason):
        self.told.append((task, reason))


def test_the_runs_of_a_task_whose_process_died_come_first_one_by_one_and_in_order():
    watcher = Noted()
    queue = RetryQueue([FIRST, SECOND], watcher)
    attempt = queue.next()
    assert attempt.task == FIRST
    assert queue.complete_or_requeue(attempt, ("died", LOST)) == []
    retries = [queue.next() for _ in RUNS]
    assert [retry.task.runs for retry in retries] == [(run,) for run in RUNS]
    assert queue.next().task == SECOND
    assert queue.next() is None
    assert queue.over
    assert watcher.told[0][1] == "killed by signal 9; trying its runs one by one"


def test_a_run_that_dies_each_time_is_lost_after_the_last_attempt():
    queue = RetryQueue([SECOND], Noted())
    attempt = queue.next()
    for _ in range(ATTEMPTS - 1):
        assert queue.complete_or_requeue(attempt, ("died", LOST)) == []
        attempt = queue.next()
    assert queue.complete_or_requeue(attempt, ("died", LOST)) == [(SECOND, LOST)]


def test_a_task_whose_machine_is_lost_moves_and_a_stopped_one_does_not():
    queue = RetryQueue([FIRST], Noted())
    attempt = queue.next()
    for _ in range(MOVES):
        assert queue.complete_or_requeue(attempt, ("gone", LOST)) == []
        assert queue.next() == attempt
    assert queue.complete_or_requeue(attempt, ("gone", LOST)) == [(FIRST, LOST)]
    assert queue.complete_or_requeue(attempt, ("stopped", LOST)) == [(FIRST, LOST)]
