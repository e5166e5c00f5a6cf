"""The remaining time, by a fake clock, compared with sums computed by hand."""

from dataclasses import replace

import pytest

from bnnbench.commands.planning.budget import Experience
from bnnbench.commands.planning.forecast import LONG, WEIGHT_OF_ESTIMATES, Forecast, forecast
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.engine.run.task import Task
from tests.commands.planning.test_budget import RUN, kept, record, twice

__all__ = ["kept"]


class Clock:
    """Shows the seconds to which it is set."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def task(*folds):
    runs = tuple(replace(RUN, fold=fold) for fold in folds)
    return Task(runs, (Evaluation(Clean(), ("rmse",)),))


TASKS = task(0, 1), task(2, 3), task(4)
KEYS = [run.key for one in TASKS for run in one.runs]


def a_forecast(*estimates, workers=1):
    clock = Clock()
    return Forecast(dict(zip(KEYS, estimates, strict=True)), workers, clock), clock


def test_before_the_first_task_ends_estimates_are_taken_at_their_word():
    told, clock = a_forecast(10.0, 20.0, 30.0, 40.0, 50.0)
    assert told.seconds == pytest.approx(150.0)
    told.started(TASKS[0])
    clock.now = 12.0
    assert told.seconds == pytest.approx(138.0)
    assert told.in_words == "about 2 min left"


def test_ended_tasks_correct_the_estimates_of_the_others():
    told, clock = a_forecast(1000.0, 1000.0, 50.0, 50.0, 0.0)
    told.started(TASKS[0])
    clock.now = 4000.0
    told.finished(TASKS[0])
    factor = (4000 + WEIGHT_OF_ESTIMATES) / (2000 + WEIGHT_OF_ESTIMATES)
    assert told.seconds == pytest.approx(100 * factor)


def test_workers_share_the_rest_but_no_task_is_shared():
    told, _ = a_forecast(10.0, 10.0, 10.0, 10.0, 20.0, workers=2)
    assert told.seconds == pytest.approx(30.0)
    told.started(task(0, 1))
    told.dropped([run for one in TASKS[1:] for run in one.runs])
    assert told.seconds == pytest.approx(20.0)


def test_runs_without_an_estimate_last_as_long_as_those_that_ended():
    told, clock = a_forecast(None, None, None, None, 7.0)
    assert told.seconds is None
    assert told.in_words == ""
    told.started(TASKS[0])
    told.progressed(TASKS[0], 0.25)
    clock.now = 30.0
    assert told.seconds is None  # nothing is known about the second task
    told.finished(TASKS[0])
    assert told.seconds == pytest.approx(30.0 + 7.0)


def test_a_task_that_takes_longer_than_expected_is_told_by_its_share():
    told, clock = a_forecast(5.0, 5.0, 0.0, 0.0, 0.0)
    told.started(TASKS[0])
    told.progressed(TASKS[0], 0.25)
    clock.now = 20.0
    assert told.seconds == pytest.approx(60.0)


def test_a_lost_task_begins_again_and_nothing_is_left_at_the_end():
    told, clock = a_forecast(10.0, 10.0, 0.0, 0.0, 0.0)
    told.started(TASKS[0])
    clock.now = 15.0
    told.lost(TASKS[0])
    assert told.seconds == pytest.approx(20.0)
    for one in TASKS:
        told.started(one)
        told.finished(one)
    assert told.in_words == ""


def test_the_speed_of_the_machine_is_measured_for_long_plans_alone(kept):
    rows = {RUN.case.name: 16}
    unmeasured = Experience([], lambda: pytest.fail("measured"))
    assert forecast([task(0)], unmeasured, rows, 1).seconds == pytest.approx(3.0)
    many = [task(fold) for fold in range(int(LONG))]
    assert forecast(many, Experience([], twice), rows, 1).seconds == pytest.approx(6.0 * LONG)
    done = Experience([record()], lambda: pytest.fail("measured"))
    assert forecast(many, done, rows, 1).seconds == pytest.approx(2.0 * LONG)


def test_methods_without_any_run_give_a_range_between_the_fastest_and_the_slowest():
    clock = Clock()
    told = Forecast(dict.fromkeys(KEYS), 1, clock, dict(zip(KEYS, "AABBC", strict=True)))
    shown = []
    for one, seconds in ((TASKS[0], 8.0), (TASKS[1], 80.0)):
        told.started(one)
        clock.now += seconds
        told.finished(one)
        shown.append(told.in_words)
    # One fast method says nothing about others.
    assert shown == ["", "4.0 s to 40 s left"]
    told.started(TASKS[2])
    told.progressed(TASKS[2], 0.5)
    clock.now += 30.0
    assert told.in_words == "about 30 s left"


def test_a_method_without_an_estimate_takes_as_long_as_its_own_finished_runs():
    clock = Clock()
    told = Forecast(dict.fromkeys(KEYS), 1, clock, dict(zip(KEYS, "AABBB", strict=True)))
    for one, seconds in ((TASKS[0], 8.0), (TASKS[1], 80.0)):
        told.started(one)
        clock.now += seconds
        told.finished(one)
    assert told.in_words == "about 40 s left"


def test_a_methods_own_tasks_correct_its_estimates_and_all_tasks_those_of_others():
    clock, labels = Clock(), dict(zip(KEYS, ["A", "A", "A", "A", "B"], strict=True))
    told = Forecast(dict.fromkeys(KEYS, 50.0), 1, clock, labels)
    told.started(TASKS[0])
    clock.now = 300.0
    told.finished(TASKS[0])
    of_all = (300 + WEIGHT_OF_ESTIMATES) / (100 + WEIGHT_OF_ESTIMATES)
    assert told.seconds == pytest.approx(100 * 3 + 50 * of_all)


def test_what_is_done_of_a_running_task_corrects_the_estimates_of_the_others():
    told, clock = a_forecast(50.0, 50.0, 30.0, 30.0, 0.0)
    told.started(TASKS[0])
    clock.now = 60.0
    told.progressed(TASKS[0], 0.2)  # 20 of 100 s are done, in 60 s
    factor = (60 + WEIGHT_OF_ESTIMATES) / (20 + WEIGHT_OF_ESTIMATES)
    assert told.seconds == pytest.approx(60 * 4 + 60 * factor)
