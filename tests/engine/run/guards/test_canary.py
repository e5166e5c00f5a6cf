"""The reference fit after a third-party method, in this process."""

import pytest
import torch

from bnnbench.engine.run.execute import run_task
from bnnbench.engine.run.guards import canary
from bnnbench.engine.run.guards.canary import with_canary
from bnnbench.engine.run.rows import LocalRows
from bnnbench.engine.run.states import Failed, Scored
from bnnbench.engine.run.task import Task
from bnnbench.methods.base import InferenceDiverged
from tests.suites.small_store import RUN

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def this_process_stays_as_it_is(monkeypatch):
    canary.expected()
    monkeypatch.setattr(canary._Process, "changed", False)
    monkeypatch.setattr(torch, "exp", torch.exp)


def carried_out(deed, state=None):
    """Return the last state of a run whose method changes the process."""

    def carry_out(task, device, listener, rows):
        (packed,) = run_task(task, device, listener, rows)
        deed()
        return [packed if state is None else type(packed)(state(packed.state))]

    (packed,) = with_canary(carry_out)(Task((RUN,), ()), CPU, lambda *_: None, LocalRows())
    return packed.state


def replace_exp():
    original = torch.exp
    torch.exp = lambda *args, **kwargs: original(*args, **kwargs) * (1 + 1e-6)


def diverged(state):
    return Failed.by(InferenceDiverged("nan"), state)


def failed(state):
    return Failed.by(ValueError("its own error"), state)


def test_a_process_that_is_unchanged_fails_nobody():
    assert isinstance(carried_out(lambda: None), Scored)
    assert not canary.has_process_changed()


@pytest.mark.parametrize("state", [None, diverged])
def test_after_a_change_the_run_has_failed_even_if_it_had_diverged(state):
    end = carried_out(replace_exp, state)
    assert isinstance(end, Failed)
    assert end.status == "failed"
    assert "a small fit of AdamW gives other numbers" in end.error
    assert canary.has_process_changed()


def test_the_methods_own_error_stays_the_reason():
    end = carried_out(replace_exp, failed)
    assert "its own error" in end.error
