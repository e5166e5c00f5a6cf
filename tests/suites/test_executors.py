"""Where tasks are carried out makes no difference to what comes out."""

from dataclasses import replace

import pytest

from datasets.base import DataUnavailable
from datasets.conditions import Clean
from suites.engine.execute import Task
from suites.engine.executors import Lost, Settings, executor
from suites.engine.executors.worker import throttled
from suites.engine.grid import Evaluation, Run
from tests.suites import fakes
from tests.suites.fakes import Dying, Line, Mean, Slow, Together

EVALUATIONS = (Evaluation(Clean(), ("rmse",)),)
RUN = Run("miniature", "quick", "label", Line(), Mean(), (), fold=0, seed=0)


class Witness:
    """Remembers what it hears."""

    def __init__(self):
        self.starts, self.reports, self.losses = [], [], []

    def started(self, task):
        self.starts.append(task)

    def progressed(self, task, done, total, loss):
        self.reports.append((task.name, done, total, loss))

    def lost(self, task, reason):
        self.losses.append(reason)


def task(method, source=RUN.source, folds=(0,)):
    runs = tuple(replace(RUN, method=method, source=source, fold=fold) for fold in folds)
    return Task(runs, EVALUATIONS)


def results(name, tasks, **settings):
    witness = Witness()
    found = dict(executor(name, Settings(**{"workers": 2} | settings)).map(tasks, witness))
    assert set(found) == set(tasks)
    return found, witness


def test_worker_processes_give_bit_for_bit_what_one_process_gives():
    tasks = [
        task(Mean()),
        task(Together(), folds=range(3)),
        task(Slow(0.3, 3)),
        task(fakes.Raising()),
    ]
    here, _ = results("serial", tasks)
    there, witness = results("processes", tasks)
    for each in tasks:
        for one, other in zip(here[each], there[each], strict=True):
            assert one.predictions == other.predictions
            assert (one.record.scores, one.record.status) == (
                other.record.scores,
                other.record.status,
            )
            assert one.record.key == other.record.key
    assert set(witness.starts) == set(tasks)
    assert (tasks[2].name, 3, 3, 1 / 3) in witness.reports


def test_a_worker_that_is_killed_costs_its_task_and_nothing_else(tmp_path):
    once = task(Dying(str(tmp_path / "once"), times=1))
    always = task(Dying(str(tmp_path / "always"), times=99))
    others = [task(Mean(), folds=(fold,)) for fold in range(3)]
    found, witness = results("processes", [always, *others, once])
    assert found[always] == Lost("the worker was killed by SIGKILL (out of memory?)")
    assert (tmp_path / "always").read_text() == "xx"
    assert [found[other][0].record.status for other in others] == ["completed"] * 3
    assert found[once][0].record.status == "completed"
    reason = "the worker was killed by SIGKILL (out of memory?); trying once more"
    assert witness.losses == [reason] * 2


def test_an_error_of_the_data_reaches_the_driver_as_what_it_is():
    with pytest.raises(DataUnavailable, match="datasets fetch elsewhere") as caught:
        results("processes", [task(Mean(), fakes.Elsewhere())])
    assert "In a worker process" in caught.value.__notes__[0]


def test_many_reports_become_few_and_the_last_is_among_them():
    times = iter(range(10**6))
    heard = []
    listen = throttled(lambda *report: heard.append(report), lambda: next(times) / 1000)
    for epoch in range(1, 1001):
        listen(epoch, 1000, 0.5)
    assert len(heard) < 30
    assert heard[0] == (1, 1000, 0.5)
    assert heard[-1] == (1000, 1000, 0.5)
