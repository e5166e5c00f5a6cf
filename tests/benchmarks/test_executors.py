"""The cost of running elsewhere, and the gain of two workers."""

import time
from dataclasses import replace

import pytest

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.stand_ins import DiabetesAsUci
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.run.task import Task
from bnnbench.engine.workers import NEEDS, Settings
from bnnbench.engine.workers.base import executor
from bnnbench.engine.workers.worker import Worker
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.networks.catalogue import mlp
from tests.engine.workers.test_workers import Witness
from tests.suites.fakes import Line, Mean

EVALUATIONS = (Evaluation(Clean(), ("rmse",)),)
RUN = Run("miniature", "quick", "label", Case(Line(), ()), Mean(), fold=0, seed=0)
FIT = replace(
    RUN,
    case=Case(DiabetesAsUci(), mlp([50], outputs=1)),
    method=AdamW(epochs=100),
)
"""About a second of training on an idle core."""

FITS = 200

RUNS = {"serial": 200, "processes": 200, "ray": 200, "slurm": 4}
"""Runs that show the overhead of each executor; a job of Slurm takes seconds to start."""


def tasks(run: Run, number: int) -> list[Task]:
    return [Task((replace(run, seed=seed),), EVALUATIONS) for seed in range(number)]


def ends(name: str, tasks: list[Task], settings: Settings) -> list[tuple[float, float]]:
    """Return when each task was finished, and its time of fitting and predicting."""
    start = time.perf_counter()
    found = []
    for _, (outcome,) in executor(name, settings).map(tasks, Witness()):
        cost = outcome.record.cost
        work = cost.fit_seconds + cost.predict_seconds
        found.append((time.perf_counter() - start, work))
    return found


@pytest.mark.parametrize("name", RUNS)
def test_what_an_executor_adds_to_a_run(benchmark, name, tmp_path):
    """From one result of a worker to its next, without fitting and predicting.

    This includes loading and scoring, which is all of the serial executor's overhead. The first
    result waits for the worker's imports.
    """
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    address = "local" if name == "slurm" else None
    settings = Settings(address=address, folder=tmp_path / "jobs")
    arguments = (name, tasks(RUN, RUNS[name]), settings)
    found = benchmark.pedantic(ends, args=arguments, rounds=1)
    if found is None:
        pytest.skip("timing is off")
    (first, _), *others = found
    added = others[-1][0] - first - sum(work for _, work in others)
    benchmark.extra_info["seconds_to_first"] = first
    benchmark.extra_info["milliseconds_a_run"] = 1000 * added / len(others)


def test_what_two_workers_gain(benchmark):
    """The time of forty fits in this process over their time in two, including imports.

    The target is 1.8 on two idle cores.
    """
    fits = tasks(FIT, FITS)
    serial = ends("serial", fits, Settings())[-1][0]
    found = benchmark.pedantic(ends, args=("processes", fits, Settings(workers=2)), rounds=1)
    if found is None:
        pytest.skip("timing is off")
    benchmark.extra_info["seconds_of_serial"] = serial
    benchmark.extra_info["speed_up"] = serial / found[-1][0]


def test_starting_a_worker(benchmark):
    """Until it has completed its first task, including imports."""

    def start() -> None:
        worker = Worker(Settings().limits)
        assert [kind for kind, _ in worker.messages(tasks(RUN, 1)[0])][-1] == "done"
        worker.dismiss()

    benchmark.pedantic(start, rounds=3)
