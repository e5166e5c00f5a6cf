"""Rows from a data server: training rows before a fit, and inputs without targets after it."""

import itertools
from dataclasses import replace

import pytest
import torch

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.pool import ActivePool
from bnnbench.datasets.stand_ins import DiabetesAsUci
from bnnbench.engine.declare.acquisition import Acquisition
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.engine.run import outcomes
from bnnbench.engine.run.execute import draft
from bnnbench.engine.run.packing import pack
from bnnbench.engine.run.rows import LocalRows, ServedRows
from bnnbench.engine.run.serving import Refused, Session, without_code
from bnnbench.engine.run.task import Task
from tests.suites.small_store import RUN

DIABETES = replace(RUN, case=replace(RUN.case, source=DiabetesAsUci()))
CLEAN = (Evaluation(Clean(), ("rmse",)),)
POOL = replace(
    DIABETES,
    case=replace(RUN.case, source=ActivePool(DiabetesAsUci(), train=30, test=40, repeats=2)),
    acquisition=Acquisition("random", rounds=2, batch=3),
)


def session(*runs):
    return Session(without_code(Task(runs, CLEAN)))


def served(session, deliver=list):
    return ServedRows(lambda *question: session.answer(list(question)), deliver)


def tensors(data):
    """Return all tensors that a value of plain classes holds."""
    if isinstance(data, torch.Tensor):
        return [data]
    values = vars(data).values() if hasattr(data, "__dict__") else ()
    return list(itertools.chain.from_iterable(map(tensors, values)))


def test_runs_fitted_together_share_their_rows():
    runs = [DIABETES, replace(DIABETES, seed=1), replace(DIABETES, fold=1)]
    first, second, third = served(session(*runs)).load(runs)
    assert first.data is second.data is not third.data
    whole = DiabetesAsUci().load(0)
    assert torch.equal(first.data.train.inputs, whole.train.inputs)
    assert torch.equal(first.data.train.targets, whole.train.targets)


def test_no_test_target_leaves_the_server_before_the_predictions_were_handed_over():
    whole, server = LocalRows().load([DIABETES])[0].data, session(DIABETES)
    rows = served(server)
    (loaded,) = rows.load([DIABETES])
    given = [*tensors(loaded.data), *tensors(rows.selected(loaded, Clean()))]
    assert any(torch.equal(tensor, whole.test.inputs) for tensor in given)
    assert not any(torch.equal(tensor, whole.test.targets) for tensor in given)
    for ask in (lambda: rows.revealed(loaded, Clean()), lambda: rows.everything(loaded)):
        with pytest.raises(Refused, match="before the predictions"):
            ask()
    server.reveals = True
    assert torch.equal(rows.revealed(loaded, Clean()).targets, whole.test.targets)
    assert torch.equal(rows.everything(loaded).test.targets, whole.test.targets)


@pytest.mark.parametrize(
    "question",
    [
        *(None, 5, [], {}, "training", ["training", 0], ["everything"], [["training"]]),
        *(["inputs"], ["inputs", 0], ["inputs", 1, "clean"], ["inputs", -1, "clean"]),
        *(["inputs", 0, "other"], ["inputs", True, "clean"], ["targets", 0, "clean"]),
        *(["candidates", 0], ["pool", 0, [1]], ["acquire", 0, [1]], ["transferred", 0, "clean"]),
        *(["__init__", 0], ["answer", ["training"]], ["data", 0]),
    ],
    ids=str,
)
def test_other_questions_are_refused(question):
    with pytest.raises(Refused):
        session(DIABETES).answer(question)


def test_acquired_rows_come_in_batches_of_new_ones_and_no_more_of_them_than_agreed():
    server = session(POOL)
    pool = server.answer(["candidates", 0]).tolist()
    first, second, more = pool[:3], pool[3:6], pool[6:9]
    for odd in (pool[:2], pool[:4], [pool[0]] * 3, [*pool[:2], 10**6], [*pool[:2], "a"], []):
        with pytest.raises(Refused):
            server.answer(["acquire", 0, odd])
    grown = server.answer(["acquire", 0, first])
    whole = POOL.source.with_acquired(0, tuple(first))
    assert torch.equal(grown.train.targets, whole.train.targets)
    assert len(grown.test) == 0
    for odd in (first, [*first, *first], [*second, *first], [*first, *second, *more]):
        with pytest.raises(Refused):
            server.answer(["acquire", 0, odd])
    server.answer(["acquire", 0, [*first, *second]])
    assert list(server._loaded) == [(0, (*first, *second))]  # earlier rounds are forgotten
    with pytest.raises(Refused, match="after the last"):
        server.answer(["acquire", 0, [*first, *second, *more]])


def test_rows_that_another_run_changed_are_loaded_again():
    rows = LocalRows()
    (loaded,) = rows.load([DIABETES])
    (same,) = rows.undamaged([loaded])
    assert same is loaded
    before = loaded.data.train.targets.clone()
    loaded.data.train.targets.add_(1)
    (again,) = rows.undamaged([loaded])
    assert torch.equal(again.loaded.data.train.targets, before)


def test_predictions_are_packed_once_unless_targets_change_them(monkeypatch):
    packed, task = [], Task((RUN,), CLEAN)
    monkeypatch.setattr(outcomes, "pack", lambda stored: packed.append(stored) or pack(stored))

    def deliver(states):
        return [outcomes.packed_state(state, task).state for state in states]

    (ended,) = draft(task, lambda *_: None, served(session(RUN), deliver))
    assert ended.record.outcome.status == "completed"
    assert len(packed) == 1


def test_predictions_that_cannot_be_packed_fail_their_run(monkeypatch):
    task = Task((RUN,), CLEAN)
    monkeypatch.setattr(outcomes, "pack", lambda stored: 1 / 0)

    def deliver(states):
        return [outcomes.packed_state(state, task).state for state in states]

    (ended,) = draft(task, lambda *_: None, served(session(RUN), deliver))
    assert ended.record.outcome.status == "failed"
    assert "ZeroDivisionError" in ended.record.outcome.error
