"""A third-party method has a separate process, only training rows, and no writable files."""

import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.pool import ActivePool
from bnnbench.datasets.stand_ins import DiabetesAsUci
from bnnbench.engine.declare.acquisition import Acquisition
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.declare.third_party import is_third_party
from bnnbench.engine.run.guards.data_guard import read_only
from bnnbench.engine.run.packing import unpack
from bnnbench.engine.run.task import Task
from bnnbench.engine.workers import Limits, Settings
from bnnbench.engine.workers.base import Lost, executor
from bnnbench.engine.workers.children import send_signal
from bnnbench.engine.workers.worker import Worker
from bnnbench.methods import METHODS, method_type
from bnnbench.methods.ensemble import Ensemble
from tests.engine.workers.test_workers import Witness
from tests.faults.third_party import Foreign
from tests.suites.fakes import Line, Together

pytestmark = pytest.mark.long


EVALUATIONS = (Evaluation(Clean(), ("rmse", "log_likelihood")),)
PLAIN = Run("faults", "quick", "Foreign", Case(Line(), ()), Foreign(), fold=0, seed=0)
EXECUTORS = pytest.mark.parametrize("name", ["serial", "processes"])


def task(deed="", argument="", **changes):
    return Task((replace(PLAIN, method=Foreign(deed, str(argument)), **changes),), EVALUATIONS)


def results(name, *tasks, **settings):
    found = dict(executor(name, Settings(**settings)).map(tasks, Witness()))
    return [found[each] for each in tasks]


def record(result):
    (outcome,) = result
    return outcome.record


@EXECUTORS
def test_what_a_method_gives_apart_is_bit_for_bit_what_it_gives_among_others(name):
    (apart,), (among,) = (results(name, task(), isolate=isolate) for isolate in (True, False))
    one, other = record(apart), record(among)
    assert (one.outcome.status, one.outcome.scores) == ("completed", other.outcome.scores)
    assert (one.circumstances.fitted_sha256, one.circumstances.data_sha256) == (
        other.circumstances.fitted_sha256,
        other.circumstances.data_sha256,
    )
    assert one.circumstances.condition_data == other.circumstances.condition_data
    assert apart[0].predictions == among[0].predictions


def line_of(words: str) -> str:
    text = Path("tests/faults/third_party.py").read_text().splitlines()
    (number,) = (n for n, line in enumerate(text, 1) if line.endswith(f"# {words}"))
    return f"tests/faults/third_party.py, line {number}, in "


@EXECUTORS
@pytest.mark.parametrize(("deed", "place"), [("write", "fit"), ("write in predict", "predict")])
def test_who_writes_is_stopped_at_that_line_and_the_next_run_is_as_without_it(name, deed, place):
    (alone,) = results(name, task())
    stopped, after = results(name, task(deed), task())
    assert isinstance(stopped, Lost)
    assert line_of(f"the write in {place}") in stopped.reason
    assert "data are read-only" in stopped.reason
    assert record(after).outcome.scores == record(alone).outcome.scores


@EXECUTORS
def test_a_crash_says_where(name):
    (lost,) = results(name, task("crash"))
    assert isinstance(lost, Lost)
    assert "SIGSEGV" in lost.reason
    assert "read-only" not in lost.reason
    assert lost.place in lost.reason
    assert "ctypes" in lost.place or line_of("the crash") in lost.place


@EXECUTORS
def test_no_test_row_is_in_the_process_while_a_third_party_method_fits(name):
    (apart,) = results(name, task("look"))
    (among,) = results(name, task("look"), isolate=False)
    assert splits_seen(apart) == 0
    assert splits_seen(among) > 0, "the spy is blind"


def splits_seen(result):
    """Return the predicted level: the number of other splits that the fit saw."""
    (outcome,) = result
    assert outcome.record.outcome.status == "completed", outcome.record.outcome.error
    ((prediction, _),) = unpack(outcome.predictions).values()
    return float(prediction.mean.mean())


@EXECUTORS
@pytest.mark.parametrize("deed", ["load", "folder"])
def test_sources_give_nothing_to_a_third_party_fit(name, deed):
    (found,) = results(name, task(deed))
    assert record(found).outcome.status == "failed"
    assert "requested data during its fit" in record(found).outcome.error


@EXECUTORS
def test_the_end_of_the_process_with_the_data_is_not_the_tasks_fault(name, tmp_path):
    (result,) = results(name, task("data_server", tmp_path / "attempts"))
    assert record(result).outcome.status == "completed", record(result).outcome.error
    assert (tmp_path / "attempts").read_text() == "xxxx"


def test_a_data_server_that_is_ending_while_the_next_task_comes_gives_way_to_another(monkeypatch):
    worker = Worker(Limits())
    try:
        (first,) = (m for m in worker.messages(task()) if m[0] != "progress")
        server = worker._data_server
        send_signal(server._process, signal.SIGKILL)
        server._process.join()
        monkeypatch.setattr(type(server), "lives", property(lambda self: self is server))
        (second,) = (m for m in worker.messages(task()) if m[0] != "progress")
        assert worker._data_server is not server
    finally:
        worker.dismiss()
    assert first[0] == second[0] == "done"


def test_each_task_has_a_process_of_its_own(tmp_path):
    file = tmp_path / "pids"
    results("processes", *(task("pid", file, fold=fold) for fold in range(3)))
    assert len(set(file.read_text().split())) == 3
    file.unlink()
    results("processes", *(task("pid", file, fold=fold) for fold in range(3)), isolate=False)
    assert len(set(file.read_text().split())) == 1


def test_a_process_apart_has_no_sockets_but_those_of_its_driver_and_its_data(tmp_path):
    """Its line and channel, the one for crashes, and the one to the data server."""
    results("processes", task("sockets", tmp_path / "open"), workers=2)
    assert (tmp_path / "open").read_text() == "4"


def test_what_is_read_only_is_equal_and_can_be_computed_with():
    for tensor in (torch.randn(3, 4), torch.arange(5), torch.empty(0, 2), torch.randn(4, 3).T):
        fixed = read_only(tensor)
        assert torch.equal(fixed, tensor)
        assert torch.equal(fixed + 1, tensor + 1)
        fixed.clone().zero_()


def test_active_learning_goes_on_apart():
    pool = ActivePool(DiabetesAsUci(), train=30, test=40, repeats=2)
    runs = {"case": Case(pool, ()), "acquisition": Acquisition("random", rounds=2)}
    (apart,) = results("serial", task(**runs))
    (among,) = results("serial", task(**runs), isolate=False)
    assert record(apart).outcome.status == "completed", record(apart).outcome.error
    assert record(apart).outcome.acquired == record(among).outcome.acquired
    assert record(apart).outcome.scores == record(among).outcome.scores


@pytest.mark.parametrize("key", sorted(METHODS))
def test_own_methods_are_not_third_party(key):
    kind = method_type(METHODS[key])
    try:
        method = kind()
    except TypeError:
        pytest.skip("needs settings")
    assert not is_third_party(method)


def test_a_third_party_method_inside_an_ensemble_is_third_party():
    assert is_third_party(Ensemble(2, Together()))
