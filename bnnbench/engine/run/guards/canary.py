"""A small reference fit, repeated bit for bit after each third-party method in a process.

A process's settings are restored after a run, but a method may also have replaced functions of
torch, NumPy or this project, which cannot be listed. The result of the reference fit then differs.
"""

import functools
import hashlib
import struct

import torch

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.engine.declare.third_party import has_third_party_code
from bnnbench.engine.run.guards.global_state import restored
from bnnbench.engine.run.rows import Rows
from bnnbench.engine.run.score import score
from bnnbench.engine.run.states import Failed
from bnnbench.engine.run.task import CarryOut, Packed, Task
from bnnbench.methods import METHODS, method_type
from bnnbench.methods.base import Problem
from bnnbench.methods.fitting.progress import Listener, listening
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.metrics import REGRESSION

ROWS, FEATURES = 32, 3


class ProcessChanged(RuntimeError):
    """After a method's run, the reference fit gives another result in the same process."""

    def __init__(self) -> None:
        super().__init__(
            "after this run, a small fit of AdamW gives other numbers in the same process than "
            "before: the method replaced a function or constant that others use, in torch, NumPy "
            "or bnnbench; its own scores may be wrong, too. Put back what it replaces"
        )


def with_canary(carry_out: CarryOut) -> CarryOut:
    """Return the function, followed by the reference fit if the method is third-party.

    If the fit's result has changed, all runs fail, including those that diverged.
    """

    def guarded(task: Task, device: torch.device, listener: Listener, rows: Rows) -> list[Packed]:
        third_party = has_third_party_code(task.runs[0])
        if third_party:
            expected()  # before any third-party module is imported
        packed = carry_out(task, device, listener, rows)
        if third_party and not check_process():
            return [_failed(one) for one in packed]
        return packed

    return guarded


def _failed(packed: Packed) -> Packed:
    state = packed.state
    if isinstance(state, Failed) and state.status == "failed":
        return packed
    return Packed(Failed.by(ProcessChanged(), state))


class _Process:
    changed = False


def has_process_changed() -> bool:
    """Return whether a method has changed this process, so that no task should follow here."""
    return _Process.changed


def check_process() -> bool:
    """Repeat the reference fit, and return whether its result is unchanged."""
    _Process.changed = _Process.changed or not _is_sound()
    return not _Process.changed


@functools.cache
def expected() -> str:
    """Return the digest of the reference fit, computed at the first call in this process."""
    return _digest()


def _is_sound() -> bool:
    try:
        return _digest() == expected()
    except Exception:  # replaced functions may raise anything
        return False


def _digest() -> str:
    """Return the SHA-256 of the weights' predictions and scores of a fit to fixed rows."""
    with restored(seed=0), listening(lambda *_: None):
        rows = torch.linspace(-1, 1, ROWS * FEATURES).reshape(ROWS, FEATURES)
        train = Split(rows, (3 * rows).sin().sum(1, keepdim=True))
        problem = Problem(train, Gaussian(), mlp([8], outputs=1))
        rng = torch.Generator().manual_seed(0)
        method = method_type(METHODS["adamw"])(learning_rate=1e-2, epochs=2, batch_size=16)
        prediction = method.fit(problem, rng).predict(rows, rng)
        scores = score(prediction, train.targets, REGRESSION).values
        numbers = prediction.mean.flatten().tolist() + list(scores.values())
    return hashlib.sha256(struct.pack(f"{len(numbers)}d", *numbers)).hexdigest()
