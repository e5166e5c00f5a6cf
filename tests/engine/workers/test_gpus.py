"""Workers on one machine share its GPUs: a number for each, and none sees two."""

import json
import os
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from pathlib import Path

import pytest
import torch

from bnnbench.commands.running.arguments import Options, parse
from bnnbench.engine.run.devices import NoSuchDevice
from bnnbench.engine.workers import (
    SHARE,
    VISIBLE,
    Gpu,
    Limits,
    Settings,
    cores,
    gpu_of,
    gpus_for,
    local,
)
from bnnbench.engine.workers.process import Process
from bnnbench.engine.workers.worker import Worker
from bnnbench.suites import Entry
from tests.engine.workers.test_workers import Witness, task
from tests.suites import fakes
from tests.suites.fakes import Mean


@dataclass(frozen=True)
class Telling:
    """Writes the environment of its process to a file."""

    file: str

    def fit(self, problem, rng):
        Path(self.file).write_text(json.dumps(dict(os.environ)))
        return fakes.fitted(problem, rng)


def options(*flags: str, **changes: object) -> Options:
    chosen = parse("miniature", Entry("Lines", ("quick",), False), list(flags))
    return replace(chosen, **changes)


def placed(gpus: int, *flags: str, **changes: object) -> Settings:
    return options(*flags, **changes).placement(1000, lambda: gpus)[1]


def test_the_name_of_a_device_stands_for_one_gpu_all_or_none():
    assert gpus_for("cpu", lambda: 4) == ()
    assert gpus_for("cuda", lambda: 4) == gpus_for("auto", lambda: 4) == (0, 1, 2, 3)
    assert gpus_for("cuda:2", lambda: 4) == (2,)
    assert gpus_for("auto", lambda: 0) == ()


def test_by_default_each_gpu_has_a_worker_and_without_gpus_each_core():
    for flags in ((), ("--workers", "auto")):
        settings = placed(4, *flags, device="cuda")
        assert (settings.workers, settings.devices) == (4, (0, 1, 2, 3))
        settings = placed(4, *flags, device="cuda:3")
        assert (settings.workers, settings.devices) == (1, (3,))
        settings = placed(0, *flags, device="cpu")
        assert (settings.workers, settings.devices) == (cores(), ())


def test_so_many_workers_share_the_gpus_and_their_memory_alike(monkeypatch):
    monkeypatch.delenv(VISIBLE, raising=False)
    settings = placed(2, "--workers", "5", device="cuda")
    gpus = [gpu_of(worker, settings.workers, settings.devices) for worker in range(5)]
    assert [gpu and gpu.name for gpu in gpus] == ["0", "1", "0", "1", "0"]
    for name in ("0", "1"):
        shares = [gpu.share for gpu in gpus if gpu and gpu.name == name]
        assert sum(shares) == pytest.approx(1)


def test_numbers_agree_with_the_gpus_that_the_command_sees(monkeypatch):
    monkeypatch.setenv(VISIBLE, "7, GPU-5b2c,MIG-77")
    assert gpu_of(0, 1, (1,)) == Gpu("GPU-5b2c")
    assert [gpu_of(worker, 3, (0, 2)) for worker in range(3)] == [
        Gpu("7", 0.5),
        Gpu("MIG-77"),
        Gpu("7", 0.5),
    ]


def test_the_serial_executor_has_one_gpu():
    name, settings = options("--executor", "serial", device="cuda").placement(9, lambda: 2)
    assert (name, settings.workers, settings.devices) == ("serial", 1, (0,))


@pytest.mark.parametrize("executor", ["ray", "slurm"])
def test_a_command_for_a_cluster_looks_at_no_device_of_its_own(monkeypatch, executor):
    def looked_at(*_: object) -> bool:
        raise AssertionError("the head's devices say nothing about its workers")

    monkeypatch.setattr(torch.cuda, "is_available", looked_at)
    monkeypatch.setattr(torch.cuda, "device_count", looked_at)
    for flags, device, gpus in (
        ((), "auto", 0.0),
        (("--device", "cuda"), "cuda", 1.0),
        (("--gpus", "1"), "cuda", 1.0),
        (("--device", "cpu"), "cpu", 0.0),
    ):
        chosen = options("--executor", executor, *flags)
        settings = chosen.placement(1000)[1]
        assert (chosen.device, settings.gpus, settings.devices) == (device, gpus, ())


def test_a_worker_process_sees_its_gpu_alone(tmp_path):
    process = Process(Gpu("3", 0.25))
    try:
        process.channel.send(task(Telling(str(tmp_path / "environment"))))
        event = ""
        while event not in ("done", "last", "error"):
            wait([process.channel.socket])
            if report := process.channel.told():
                event = report.content["event"]
    finally:
        process.dismiss()
    assert event != "error", report
    environment = json.loads((tmp_path / "environment").read_text())
    assert environment[VISIBLE] == "3"
    assert float(environment[SHARE]) == 0.25


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_worker_that_is_to_have_a_gpu_never_takes_the_processor():
    worker = Worker(Limits(), gpu=Gpu("0"))
    try:
        *_, (event, error) = worker.messages(replace(task(Mean()), device="auto"))
    finally:
        worker.dismiss()
    assert event == "error"
    assert isinstance(error, NoSuchDevice)


def test_processes_take_turns_at_the_gpus(monkeypatch):
    hired = []

    class Hired(Worker):
        def __init__(self, limits, isolate, gpu):
            hired.append(gpu)
            super().__init__(limits, isolate)

    monkeypatch.setattr(local, "Worker", Hired)
    monkeypatch.delenv(VISIBLE, raising=False)
    tasks = [task(fakes.Slow(0.3), folds=(fold,)) for fold in range(3)]
    settings = Settings(workers=3, devices=(0, 1))
    assert len(list(local.Processes(settings).map(tasks, Witness()))) == 3
    assert hired == [Gpu("0", 0.5), Gpu("1"), Gpu("0", 0.5)]
