"""Results do not depend on where tasks are carried out."""

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.errors import DataUnavailable
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.run.task import Task
from bnnbench.engine.workers import NEEDS, Limits, Settings, lacks
from bnnbench.engine.workers.base import ExecutorUnavailable, Lost, executor
from bnnbench.engine.workers.child import throttled
from bnnbench.engine.workers.clusters import Parcel
from tests.suites import fakes
from tests.suites.fakes import Dying, Fragile, Hungry, Line, Mean, Slow, Together, Unaligned

EVALUATIONS = (Evaluation(Clean(), ("rmse",)),)
RUN = Run("miniature", "quick", "label", Case(Line(), ()), Mean(), fold=0, seed=0)


class Witness:
    """Records its events."""

    def __init__(self):
        self.starts, self.reports, self.losses, self.notes = [], [], [], []

    def started(self, task):
        self.starts.append(task)

    def progressed(self, task, done, total, loss):
        self.reports.append((task.name, done, total, loss))

    def lost(self, task, reason):
        self.losses.append(reason)

    def note(self, line):
        self.notes.append(line)


def task(method, source=RUN.source, folds=(0,)):
    runs = tuple(replace(RUN, method=method, case=Case(source, ()), fold=fold) for fold in folds)
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
            assert (one.record.outcome.scores, one.record.outcome.status) == (
                other.record.outcome.scores,
                other.record.outcome.status,
            )
            assert one.record.key == other.record.key
    assert set(witness.starts) == set(tasks)
    assert (tasks[2].name, 3, 3, 1 / 3) in witness.reports


@pytest.mark.long
def test_a_worker_that_is_killed_costs_its_task_and_nothing_else(tmp_path):
    once = task(Dying(str(tmp_path / "once"), times=1))
    always = task(Dying(str(tmp_path / "always"), times=99))
    others = [task(Mean(), folds=(fold,)) for fold in range(3)]
    found, witness = results("processes", [always, *others, once])
    assert found[always] == Lost("the worker was killed by SIGKILL (out of memory?)")
    assert (tmp_path / "always").read_text() == "xx"
    assert [found[other][0].record.outcome.status for other in others] == ["completed"] * 3
    assert found[once][0].record.outcome.status == "completed"
    reason = "the worker was killed by SIGKILL (out of memory?); trying once more"
    assert witness.losses == [reason] * 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "isolate"), [("serial", True), ("serial", False), ("processes", True)]
)
def test_a_device_that_fails_costs_the_task_and_nothing_else(name, isolate, tmp_path):
    once = task(Unaligned(str(tmp_path / "once"), times=1))
    always = task(Unaligned(str(tmp_path / "always"), times=99))
    others = [task(Mean(), folds=(fold,)) for fold in range(3)]
    found, witness = results(name, [always, *others, once], isolate=isolate)
    assert found[always] == Lost("the device failed: CUDA error: misaligned address")
    assert (tmp_path / "always").read_text() == "xx"
    assert [found[other][0].record.outcome.status for other in others] == ["completed"] * 3
    assert found[once][0].record.outcome.status == "completed"
    reason = "the device failed: CUDA error: misaligned address; trying once more"
    assert witness.losses == [reason] * 2


@pytest.mark.long
def test_of_runs_fitted_together_the_one_to_blame_falls_alone():
    first_inputs = [float(Line().load(fold).train.inputs[0, 0]) for fold in range(4)]
    together = task(Fragile(sorted(first_inputs)[-2]), folds=range(4))
    witness = Witness()
    found = list(executor("processes", Settings(workers=2)).map([together], witness))
    statuses = {
        t.runs[0].fold: result if isinstance(result, Lost) else result[0].record.outcome.status
        for t, result in found
    }
    guilty = first_inputs.index(max(first_inputs))
    killed = Lost("the worker was killed by SIGKILL (out of memory?)")
    assert statuses == dict.fromkeys(range(4), "completed") | {guilty: killed}
    assert witness.losses == [f"{killed.reason}; trying its runs one by one"]


@pytest.mark.long
def test_a_run_that_takes_too_long_is_stopped_and_not_repeated():
    late, others = task(Slow(60.0)), [task(Mean(), folds=(fold,)) for fold in range(3)]
    limits = Limits(seconds=3.0)  # a separate process may start slowly next to others
    start = time.monotonic()
    found, witness = results("processes", [late, *others], limits=limits)
    assert time.monotonic() - start < 30
    assert found[late] == Lost("ran longer than 3 s")
    assert [found[other][0].record.outcome.status for other in others] == ["completed"] * 3
    assert witness.starts.count(late) == 1


def test_runs_fitted_together_have_the_time_of_all_of_them():
    together = task(Slow(20.0), folds=range(3))
    witness = Witness()
    limits = Limits(seconds=0.2)
    ((_, result),) = executor("processes", Settings(limits=limits)).map([together], witness)
    assert result == Lost("ran longer than 0.2 s for each of 3 runs fitted together")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="watches processes through /proc")
@pytest.mark.long
def test_a_run_that_needs_too_much_memory_is_tried_once_more_and_stopped():
    greedy, modest = task(Hungry(2 * 2**30)), task(Hungry(2**20))
    found, witness = results("processes", [greedy, modest], limits=Limits(bytes=2**30 * 3 // 2))
    assert found[greedy] == Lost("needed more than 1.5 GiB of memory")
    assert found[modest][0].record.outcome.status == "completed"
    assert witness.losses == ["needed more than 1.5 GiB of memory; trying once more"]


@pytest.mark.long
@pytest.mark.parametrize("name", ["serial", "processes"])
def test_while_there_is_nothing_to_do_tasks_are_asked_for_again(name):
    first, second = task(Mean()), task(Mean(), folds=(1,))
    offered = iter([None, first, None, None, second])
    found = dict(executor(name, Settings(workers=2)).map(offered, Witness()))
    assert set(found) == {first, second}


def test_a_process_cannot_stop_itself():
    with pytest.raises(ValueError, match="serial executor has no limits"):
        executor("serial", Settings(limits=Limits(seconds=1)))


def test_a_class_of_the_started_file_does_not_travel():
    @dataclass(frozen=True)
    class Local(Mean):
        """Pretends to be defined in the script that was started."""

    Local.__module__, Local.__qualname__ = "__main__", "Local"
    sys.modules["__main__"].Local = Local
    try:
        with pytest.raises(ExecutorUnavailable, match="move it to a module"):
            Parcel.of(task(Local()))
    finally:
        del sys.modules["__main__"].Local
    assert Parcel.of(task(Mean())).opened() == task(Mean())


def test_a_machine_with_other_code_opens_no_task():
    whole = Parcel.of(task(Mean()))
    with pytest.raises(ExecutorUnavailable, match="has other code") as caught:
        replace(whole, code_sha256="of another version").opened()
    assert "--working-dir" in str(caught.value)
    content = whole.content.replace(b"tests.suites.fakes", b"missing.module.abc")
    elsewhere = replace(whole, content=content)
    with pytest.raises(ExecutorUnavailable, match="cannot open a task: No module named 'missing'"):
        elsewhere.opened()


def test_a_package_that_is_missing_is_named_with_its_cure(monkeypatch):
    monkeypatch.setitem(NEEDS, "ray", "no_such_package")
    assert lacks("ray") == "needs the package no_such_package: pip install 'bnnbench[ray]'"
    assert lacks("serial") is None


def test_an_error_of_the_data_reaches_the_driver_as_what_it_is():
    with pytest.raises(DataUnavailable, match="data fetch elsewhere") as caught:
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
