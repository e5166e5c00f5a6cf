"""Runs whose fits are killed: they go on, cost what all attempts took, and leave no checkpoints."""

import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bnnbench.commands.planning.plan import plan
from bnnbench.engine.declare.case import Case
from bnnbench.engine.run import checkpoints
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.task import RunResult, Task
from bnnbench.engine.store.store import Store
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.checkpoints.files import LEDGER, Ledger
from bnnbench.methods.networks.architectures import Linear, ReLU
from tests.engine.run.test_execute import EVALUATIONS, RUN
from tests.engine.store.test_faults import workers
from tests.suites.commands import call
from tests.suites.fakes import Line
from tests.suites.walking import SUITES, Walk
from tests.warm import process_of, python

NETWORK = (Linear(5), ReLU(), Linear(1))
TRAINED = replace(RUN, method=AdamW(epochs=6, batch_size=8), case=Case(RUN.source, NETWORK))


class Killed(KeyboardInterrupt):
    """Stands for the end of the process."""


@pytest.fixture(autouse=True)
def after_each_epoch(monkeypatch):
    monkeypatch.setenv(checkpoints.SECONDS, "0")


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / checkpoints.FOLDER


def task(folder: Path | None, *seeds: int) -> Task:
    runs = tuple(replace(TRAINED, seed=seed) for seed in seeds or (0,))
    return Task(runs, EVALUATIONS, checkpoints=folder)


def killed_in(epoch: int, task: Task) -> None:
    def listen(done: int, total: int, loss: float) -> None:
        if done == epoch:
            raise Killed

    with pytest.raises(Killed):
        execute(task, listen)


def same(one: RunResult, other: RunResult) -> bool:
    """Return whether two outcomes say the same but for costs and times."""
    kept = [
        (o.record.outcome.scores, o.record.outcome.diagnostics, o.predictions) for o in (one, other)
    ]
    return kept[0] == kept[1]


def test_a_run_that_is_killed_goes_on_and_says_so(folder):
    (whole,) = execute(task(None))
    killed_in(4, task(folder))
    reports = []
    (resumed,) = execute(task(folder), lambda *report: reports.append(report))
    assert [done for done, *_ in reports] == [4, 5, 6]
    assert same(whole, resumed)
    assert resumed.record.circumstances.provenance["resumed"] == 1
    assert "resumed" not in whole.record.circumstances.provenance


def test_its_cost_includes_all_attempts(folder):
    walk = replace(RUN, method=Walk(epochs=6, seconds=0.6))
    walking = Task((walk,), EVALUATIONS, checkpoints=folder)
    killed_in(5, walking)
    reports = []
    (resumed,) = execute(walking, lambda *report: reports.append(report))
    assert [done for done, *_ in reports] == [5, 6]
    cost = resumed.record.cost
    assert cost
    assert cost.fit_seconds > 0.6
    (ledger,) = (Ledger.read(own) for own in folder.iterdir())
    assert ledger
    assert ledger.peak_bytes <= cost.peak_bytes


def test_runs_in_other_company_begin_anew(folder):
    killed_in(4, task(folder, 0, 1))
    reports = []
    (alone,) = execute(task(folder, 1), lambda *report: reports.append(report))
    assert len(reports) == 6
    assert same(alone, execute(task(None, 1))[0])


def test_a_checkpoint_of_other_data_is_not_used(folder):
    killed_in(4, task(folder))
    case = Case(Line(rows=24 + 3), NETWORK)
    runs = [replace(run, case=case) for run in task(folder).runs]
    (own,) = folder.iterdir()
    other = Task(tuple(runs), EVALUATIONS, checkpoints=folder)
    place = folder / checkpoints.digest([[runs[0].key], 0, "cpu"])
    own.rename(place)
    (outcome,) = execute(other)
    (note,) = outcome.record.circumstances.provenance["checkpoints_not_used"]
    assert "data" in note
    assert "resumed" not in outcome.record.circumstances.provenance


def test_without_the_store_on_this_machine_there_are_none(tmp_path):
    elsewhere = tmp_path / "not here" / checkpoints.FOLDER
    (outcome,) = execute(task(elsewhere))
    assert outcome.record.outcome.status == "completed"
    assert not elsewhere.parent.exists()


def test_what_is_kept_needs_no_checkpoints(folder):
    killed_in(4, task(folder, 0, 1))
    killed_in(4, task(folder, 2))
    (folder / "odd").mkdir()
    (folder / "odd" / LEDGER).write_text("{")
    checkpoints.discard(folder, [replace(TRAINED, seed=1).key])
    (left,) = folder.iterdir()
    ledger = Ledger.read(left)
    assert ledger
    assert ledger.identity["runs"] == [replace(TRAINED, seed=2).key]
    checkpoints.discard(folder, ledger.identity["runs"])
    assert not folder.exists()


def command(out: Path, *flags: str) -> list[str]:
    """Return the arguments of a command."""
    start = ["-m", "tests.suites.walking", "--no-report", "--out", str(out)]
    return [*start, *flags]


def wait_for_a_checkpoint(out: Path, epochs: int) -> None:
    give_up = time.monotonic() + 60
    while True:
        for path in (out / "walking" / checkpoints.FOLDER).glob("*"):
            ledger = Ledger.read(path)
            if ledger and any(stage.done >= epochs for stage in ledger.stages.values()):
                return
        assert time.monotonic() < give_up
        time.sleep(0.01)


def only_run(out: Path) -> tuple[object, dict[str, object], object]:
    store = Store(out / "walking")
    (record,) = store.records()
    (prediction, targets) = store.predictions(record.key)["clean"]
    numbers = [tensor.tolist() for tensor in vars(prediction).values() if tensor is not None]
    return (
        (record.outcome.scores, numbers, targets.tolist()),
        dict(record.circumstances.provenance),
        record.cost,
    )


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed")
    assert call(out, suite=SUITES["quick"]).code == 0
    return only_run(out)[0]


@pytest.mark.long
def test_a_driver_killed_in_a_fit_goes_on_by_the_same_command(tmp_path, undisturbed):
    asked = python(*command(tmp_path, "--executor", "serial"))
    driver = subprocess.Popen(asked, stdout=subprocess.PIPE)
    wait_for_a_checkpoint(tmp_path, 10)
    driver.kill()
    driver.communicate()  # until the process behind it has ended
    subprocess.run(asked, check=True, capture_output=True)
    numbers, provenance, cost = only_run(tmp_path)
    assert numbers == undisturbed
    assert provenance["resumed"] == 1
    assert cost.fit_seconds > 1.2
    assert not (tmp_path / "walking" / checkpoints.FOLDER).exists()


@pytest.mark.long
def test_a_worker_killed_in_a_fit_is_replaced_by_one_that_goes_on(tmp_path, undisturbed):
    asked = command(tmp_path, "--executor", "processes", "--workers", "2")
    driver = subprocess.Popen(python(*asked), stdout=subprocess.PIPE)
    wait_for_a_checkpoint(tmp_path, 10)
    for worker in workers(process_of(driver)):
        os.kill(worker, signal.SIGKILL)
    driver.communicate(timeout=60)
    assert driver.returncode == 0
    numbers, provenance, _ = only_run(tmp_path)
    assert numbers == undisturbed
    assert provenance["resumed"] == 1


def test_a_fresh_command_begins_anew(tmp_path):
    suite, store = SUITES["quick"], Store(tmp_path / "walking")
    store.folder.mkdir()
    (walking,) = plan(suite, store, "cpu").tasks
    killed_in(3, walking)
    assert plan(suite, store, "cpu").tasks == (walking,)
    assert list((store.folder / checkpoints.FOLDER).iterdir())
    assert plan(suite, store, "cpu", refit="all").tasks == (walking,)
    assert not (store.folder / checkpoints.FOLDER).exists()
