"""A small reference fit, repeated bit for bit after each third-party method in a process.

A process's settings are restored after a run, but a method may also have replaced functions of
torch, NumPy or this project, which cannot be listed. The result of the reference fit then differs.
"""

import functools
import hashlib
import struct

import numpy as np
import torch
from torch.nn import functional

from bnnbench.datasets.base import Gaussian, Split
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
        third_party = task.has_third_party_code
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
        numbers = prediction.mean.flatten().tolist() + list(scores.values()) + _operations()
    return hashlib.sha256(struct.pack(f"{len(numbers)}d", *numbers)).hexdigest()


def _operations() -> list[float]:
    """Return results of functions that methods use and the reference fit does not."""
    rng = torch.Generator().manual_seed(0)
    a = torch.randn(4, 4, generator=rng, dtype=torch.float64)
    spd, image = a @ a.T + torch.eye(4), torch.randn(1, 1, 4, 4, generator=rng)
    results = [
        *(
            a.matmul(a),
            a.mm(a),
            torch.matmul(a, a),
            torch.mm(a, a),
            torch.einsum("ij,kj->ik", a, a),
        ),
        *(torch.bmm(a[None], a[None]), torch.addmm(a, a, a), a * a, a + a, a - a.T, a / 3, a**2),
        *(torch.linalg.cholesky(spd), torch.linalg.solve(spd, a), torch.linalg.eigh(spd)[0]),
        *(
            torch.linalg.inv(spd),
            torch.linalg.svdvals(a),
            torch.logdet(spd),
            torch.outer(a[0], a[1]),
        ),
        *(a.exp(), a.abs().log(), a.abs().sqrt(), a.sin(), a.tanh(), a.sigmoid(), a.erf()),
        *(a.softmax(1), a.log_softmax(1), a.logsumexp(1), a.cumsum(0), a.sort(0).values),
        *(a.sum(), a.mean(), a.var(), a.std(), a.norm(), a.max(), a.min(), a.clamp(-1, 1)),
        *(functional.relu(a), functional.gelu(a), functional.softplus(a), functional.silu(a)),
        *(functional.conv2d(image, image), functional.linear(a, a), functional.elu(a)),
        *(functional.cross_entropy(a, a.argmax(0)), functional.mse_loss(a, a.T)),
        *(torch.special.ndtr(a), torch.lgamma(a.abs()), torch.digamma(a.abs() + 1)),
        *(torch.randperm(4, generator=rng), torch.rand(3, generator=rng), a.where(a > 0, 0.0)),
    ]
    x = a.numpy()
    arrays = [
        *(x @ x, np.dot(x, x), np.exp(x), np.log(np.abs(x)), np.sqrt(np.abs(x)), x.sum(), x.mean()),
        *(np.linalg.cholesky(spd.numpy()), np.linalg.solve(spd.numpy(), x), np.sort(x), x.std()),
        np.random.default_rng(0).normal(size=3),
    ]
    values = [torch.as_tensor(one, dtype=torch.float64).flatten() for one in (*results, *arrays)]
    return torch.cat(values).tolist()
