"""A Ray cluster of two machines: the head has neither processors nor GPUs for workers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bnnbench.engine.store.store import Store
from bnnbench.engine.workers import VISIBLE, Limits, Settings
from bnnbench.engine.workers.base import ExecutorUnavailable
from bnnbench.engine.workers.clusters.ray_cluster import Patience
from bnnbench.methods import own_files
from tests.engine.workers.test_workers import Witness
from tests.warm import python

pytestmark = pytest.mark.long


TIMEOUT = 240

CLUSTER = """
from ray.cluster_utils import Cluster
head = {"num_cpus": 0, "num_gpus": 0, "include_dashboard": False}
cluster = Cluster(initialize_head=True, head_node_args=head)
print(cluster.address, flush=True)
input()
cluster.add_node(num_cpus=2, num_gpus=1)
input()
cluster.shutdown()
"""

PRETENDING = '''
"""A method that says how its process decided on a device, where there is no GPU to fit on."""

import os
from dataclasses import dataclass, replace

import torch

from bnnbench.engine.run import devices
from tests.suites import fakes

decided = devices.decided
DECISIONS = []


def pretended(name, count=None):
    """Let the true decision be made with as many GPUs as Ray gave, then fit on the processor."""
    device = decided(name, lambda: len(os.environ["CUDA_VISIBLE_DEVICES"].split(",")))
    DECISIONS.append(device.type)
    return torch.device("cpu")


devices.decided = pretended


@dataclass(frozen=True)
class Told:
    posterior: fakes.Constant

    @property
    def diagnostics(self):
        return {
            "gpu": float(DECISIONS == ["cuda"]),
            "share": float(os.environ[devices.SHARE]),
            "copied": float("working_dir_files" in __file__),
        }

    def predict(self, inputs, rng):
        return self.posterior.predict(inputs, rng)


@dataclass(frozen=True)
class Pretending:
    def fit(self, problem, rng):
        return Told(fakes.fitted(problem, rng))
'''


class Started:
    """A cluster whose second machine starts on request."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process, self.address, self._grown = process, address, False

    def say(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def grow(self) -> None:
        if not self._grown:
            self._grown = True
            self.say()


@pytest.fixture(scope="module")
def environment(project) -> dict[str, str]:
    others = {name: text for name, text in os.environ.items() if name != VISIBLE}
    return others | {"PYTHONPATH": str(project)}


@pytest.fixture(scope="module")
def cluster(project, environment):
    pytest.importorskip("ray")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    start = [sys.executable, "-c", CLUSTER]
    with subprocess.Popen(start, cwd=project, env=environment, **pipes) as process:
        assert process.stdout
        started = Started(process, process.stdout.readline().strip())
        yield started
        started.grow()
        started.say()


def command(out: Path, cluster: Started, *flags: str) -> list[str]:
    start = python("-m", "tests.suites.miniature", "--no-report", "--out", str(out))
    return [*start, "--executor", "ray", "--address", cluster.address, "--workers", "2", *flags]


def test_workers_are_asked_for_before_there_is_a_machine(tmp_path, project, environment, cluster):
    asked = command(tmp_path, cluster, "--methods", "Mean")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(asked, cwd=project, env=environment, **pipes) as driver:
        assert driver.stdout
        start = "Waiting for Ray to start a worker, up to 15 min (--wait)"
        line = next(line for line in driver.stdout if line.startswith(start))
        assert "none of the 1 machines of the cluster has 1 CPU" in line
        cluster.grow()
        output, _ = driver.communicate(timeout=TIMEOUT)
    assert driver.returncode == 0, output
    records = Store(tmp_path / "miniature").records()
    assert [record.circumstances.provenance["device"] for record in records] == ["cpu"] * 2


def test_a_head_without_a_gpu_decides_nothing_and_own_files_travel(
    tmp_path, project, environment, cluster
):
    """Workers with a quarter of a GPU compute on it, whatever the head has."""
    cluster.grow()
    file = tmp_path / "mine" / "pretending.py"
    file.parent.mkdir()
    file.write_text(PRETENDING)
    flags = ("--gpus", "0.25", "--working-dir", str(file.parent), "--folds", "1", "--in-process")
    asked = command(tmp_path, cluster, *flags, "--methods", f"{file}:Pretending")
    answer = subprocess.run(
        asked, cwd=project, env=environment, capture_output=True, text=True, timeout=TIMEOUT
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "(Ray, 1 at once, 0.25 GPU each (--gpus))" in answer.stdout
    (record,) = Store(tmp_path / "miniature").records()
    assert record.outcome.diagnostics == {"gpu": 1.0, "share": 0.25, "copied": 1.0}


def patience(clock, **settings) -> tuple[Patience, Witness]:
    witness = Witness()
    return Patience(Settings(**settings), witness, clock), witness


SMALL = {"CPU": 2.0, "memory": 2.0**30}


def test_a_wait_for_machines_is_said_once_and_ends_with_cause_and_cure():
    times = iter([0.0, 0.0 + 1, 100.0, 301.0])
    waiting, witness = patience(lambda: next(times), address="auto", gpus=0.5, wait_minutes=5)
    for _ in range(3):
        waiting.check(lambda: [SMALL], ready=False)
    (line,) = witness.notes
    assert "none of the 1 machines of the cluster has 1 CPU, 0.5 GPU" in line
    with pytest.raises(ExecutorUnavailable) as caught:
        waiting.check(lambda: [SMALL], ready=False)
    assert str(caught.value).startswith("no worker of Ray for 5 min: none of the 1 machines")
    assert "--gpus" in str(caught.value)
    assert "--wait" in str(caught.value)


def test_a_machine_with_room_has_time_to_start_a_worker():
    times = iter([0.0, 29.0, 31.0, 32.0])
    waiting, witness = patience(lambda: next(times), address="auto")
    for _ in range(2):
        waiting.check(lambda: [{}, SMALL], ready=False)
    assert witness.notes == []
    for _ in range(2):
        waiting.check(lambda: [{}, SMALL], ready=False)
    (line,) = witness.notes
    assert "no machine is free" in line


def test_a_worker_that_is_ready_ends_the_wait():
    times = iter([0.0, 1000.0])
    waiting, _ = patience(lambda: next(times), address="auto", wait_minutes=1)
    waiting.check(lambda: [], ready=False)
    waiting.check(lambda: [], ready=True)
    waiting.check(lambda: [], ready=False)


def test_a_cluster_of_this_machine_alone_is_waited_for_in_vain():
    waiting, _ = patience(lambda: 0.0, limits=Limits(bytes=2**40))
    with pytest.raises(ExecutorUnavailable, match="no other can join"):
        waiting.check(lambda: [SMALL], ready=False)


def test_folders_within_the_copied_one_are_found_in_its_copy(tmp_path, monkeypatch):
    from bnnbench.engine.workers.clusters.ray_cluster import _copied

    inside, outside = tmp_path / "project" / "methods", tmp_path / "elsewhere"
    for folder in (inside, outside):
        folder.mkdir(parents=True)
    variable = os.pathsep.join(map(str, (inside, tmp_path / "project", outside)))
    monkeypatch.setenv(own_files.VARIABLE, variable)
    copied = _copied(tmp_path / "project")
    assert copied.split(os.pathsep) == ["methods", ".", str(outside)]
    monkeypatch.setenv(own_files.VARIABLE, copied)
    monkeypatch.chdir(tmp_path)
    own_files.make_absolute()
    assert own_files.folders() == [str(tmp_path / "methods"), str(tmp_path), str(outside)]
