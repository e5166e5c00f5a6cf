"""The whole way to a rented machine and back, on a CPU that lacks the tools of development."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bnnbench.commands import data, short_gpu
from bnnbench.datasets.official import cifar10
from bnnbench.engine.run import checkpoints
from bnnbench.methods.checkpoints.files import Ledger
from bnnbench.reports.pages.site.paper_pages import paper_page
from bnnbench.reports.papers.coverage import coverage
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.bundles import read_bundle
from bnnbench.suites.cifar10.short_gpu import RENTED
from bnnbench.suites.departures import OF_TABLE_1_OF_000
from tests.commands import short_gpu_machine

pytestmark = pytest.mark.long


BLOCKED = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refuse())
"""
ABSENT = {"pooch", "beartype", "ray", "submitit", "playwright", "arviz", "pyro"}
"""Packages that a machine with PyTorch and CuPy alone lacks."""


@pytest.fixture(scope="module")
def bare(tmp_path_factory, project) -> dict[str, str]:
    """An environment of processes in which some packages cannot be imported."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "sitecustomize.py").write_text(BLOCKED.format(absent=ABSENT))
    path = os.pathsep.join([str(folder), str(project)])
    kept = {name: value for name, value in os.environ.items() if name != "BNNBENCH_DATA"}
    return kept | {"PYTHONPATH": path}


def rented(folder: Path) -> list[str]:
    start = [sys.executable, "-m", "tests.commands.short_gpu_machine", "rented", "cifar10"]
    places = ["--parts", str(folder / "arrived"), "--out", str(folder / "out")]
    return [*start, *places, "--device", "cpu", "--limit", "32"]


def ledgers(folder: Path) -> list[Ledger]:
    places = (folder / "out" / "results" / "cifar10" / checkpoints.FOLDER).glob("*")
    return [ledger for place in places if (ledger := Ledger.read(place))]


def kill_after_an_epoch(words: list[str], environment: dict[str, str], folder: Path) -> str:
    """Kill a command and its processes once a checkpoint is there, and return what it printed."""
    slow = environment | {short_gpu_machine.SLOW: "1"}
    process = subprocess.Popen(
        words, env=slow, start_new_session=True, text=True, stdout=subprocess.PIPE
    )
    give_up = time.monotonic() + 300
    while not any(stage.done for ledger in ledgers(folder) for stage in ledger.stages.values()):
        assert process.poll() is None, process.stdout and process.stdout.read()
        assert time.monotonic() < give_up
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    return process.communicate()[0]


def test_packed_sent_run_killed_resumed_fetched_and_shown(bare, monkeypatch, tmp_path, capsys):
    for part, files in short_gpu_machine.files().items():
        monkeypatch.setitem(cifar10.FILES, part, files)
    here, sent, arrived = (tmp_path / name for name in ("here", "sent", "arrived"))
    short_gpu_machine.write(here)
    monkeypatch.setenv("BNNBENCH_DATA", str(here))
    assert data.main(["pack", "cifar10", "--parts-of", "40K", "--out", str(sent)]) == 0
    first, *others = sorted(sent.iterdir())
    assert others

    arrived.mkdir()
    shutil.copy(first, arrived)
    _, _, _, _, *flags = rented(tmp_path)
    assert short_gpu.main(flags) == short_gpu.AGAIN
    assert "these are missing: 2" in capsys.readouterr().out

    for part in others:
        shutil.copy(part, arrived)
    began = kill_after_an_epoch(rented(tmp_path), bare, tmp_path)
    assert "gate minutes, passed: MP: 8 steps" in began  # 4 epochs of 2 batches of a group
    for path, content in short_gpu_machine.contents().items():
        assert (tmp_path / "out" / "data" / path).read_bytes() == content
    (ledger,) = ledgers(tmp_path)
    assert 1 <= max(stage.done for stage in ledger.stages.values()) < short_gpu_machine.EPOCHS

    resumed = subprocess.run(rented(tmp_path), env=bare, capture_output=True, text=True)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert "gates: passed before" in resumed.stdout
    assert "1 of 1 runs completed" in resumed.stdout
    assert not ledgers(tmp_path)

    back = tmp_path / "out" / "back"
    names = {path.name for path in back.iterdir()}
    assert names == {"gates.json", "runs.tar.xz", "predictions.tar"}
    assert json.loads((back / "gates.json").read_text())["device"] == "cpu"
    ((name, found),) = read_bundle(back).items()
    assert name == "cifar10"
    (record,) = found.records
    assert record.circumstances.provenance["resumed"] == 1
    tables = [t for t in coverage({name: benchmarks(found.records)}) if t.paper == "000"]
    text = paper_page("000", "papers/000.html", tables, {}, {"suites": {}, "search": []})
    accuracy = f"{100 * record.outcome.scores['clean']['accuracy']:.1f}"
    assert f">{accuracy}<small>77.3</small></button>" in text
    # MP's score on SVHN, which photographs replace here; six scores of AdamW and of both IVONs.
    assert text.count("needs a GPU<small>") == 1
    assert text.count("not run yet<small>") == 18
    for departure in OF_TABLE_1_OF_000:
        assert departure.replace("'", "&#39;") in text
    assert "A limited number of rows." in text


def test_tests_of_kernels_are_collected_without_the_tools_of_development(bare, project):
    words = ["-m", "pytest", "-q", "-m", "gpu", "--collect-only", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, *words, RENTED.tests],
        env=bare,
        cwd=project,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert "test_graphs_on_a_gpu_are_replayed_as_passed" in done.stdout
    assert "test_sums_on_a_gpu_agree_with_the_reference_and_repeat" in done.stdout
