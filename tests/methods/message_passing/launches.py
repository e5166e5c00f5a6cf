"""Launches of a visit on a GPU, counted on a processor: by the library and by our kernels.

The library's operations count unless they are views or allocations; each of our kernels counts as
often as `call` would launch it. Tensors take the layouts and paths of a GPU.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import wraps
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from bnnbench.methods.base import Problem
from bnnbench.methods.message_passing import guard, heads, state, stored, straight, trainer
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.kernels import fused, grids
from bnnbench.methods.message_passing.kernels.backend import with_operations
from bnnbench.methods.message_passing.kernels.compiled import Compiled
from bnnbench.methods.message_passing.kernels.cuda import flattened
from bnnbench.methods.message_passing.kernels.table import IN_CUDA, KERNELS
from bnnbench.methods.message_passing.layers import elementwise, first, later, weighted
from bnnbench.methods.message_passing.maps import base
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.priors import SpectralPrior

FUSED_FILES = ("coupled", "biases", "fused")
ALLOCATIONS = {"new_empty", "empty", "empty_like", "empty_strided", "_unsafe_view", "lift_fresh"}
"""Operations that write no memory."""
REST = "checks, loss, clones outside of layers"
PARTS: Mapping[str, tuple[tuple[type, str], ...]] = {
    "coupled update": ((weighted.WeightedLayer, "_couple"),),
    "later layers, backward": ((later.LaterLayer, "backward"),),
    "later layers, forward": ((later.LaterLayer, "forward"),),
    "biases: send, cavity": (
        (weighted.WeightedLayer, "_send_to_bias"),
        (weighted.WeightedLayer, "_cavity_of_bias"),
    ),
    "watched rows": ((guard.Watch, "begin"), (guard.Watch, "worse")),
    "first layer": ((first.FirstLayer, "forward"), (first.FirstLayer, "backward")),
    "activations, pooling, head": (
        *((elementwise.Activation, name) for name in ("forward", "backward")),
        *((elementwise.MaxPool, name) for name in ("forward", "backward")),
        (elementwise.Flatten, "backward"),
        (heads.Classification, "message"),
    ),
    "exchange, keep, refresh, cavity, store, counts": (
        *(
            (weighted.WeightedLayer, name)
            for name in ("_send_to_weights", "_old_and_room", "_store", "refresh")
        ),
        (first.FirstLayerOfExamples, "_send_to_weights"),
        *((stored.Stored, name) for name in ("cavity", "put")),
        *((straight.StraightVisits, name) for name in ("cavity", "_refresh")),
        (state.Tally, "add"),
    ),
}
"""Functions whose launches belong to a part, except for launches of a part that they call."""


class Launches(TorchDispatchMode):
    """Counts launches of the library and of our kernels, by part."""

    def __init__(self) -> None:
        super().__init__()
        self.library: Counter[str] = Counter()
        self.own: Counter[str] = Counter()
        self.names: Counter[tuple[str, str]] = Counter()
        self._parts = [REST]

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func._schema.name.split("::")[1]
        if not func.is_view and name not in ALLOCATIONS:
            self.library[self._parts[-1]] += 1
            self.names[self._parts[-1], name] += 1
        return func(*args, **(kwargs or {}))

    def launch(self, name: str, count: int = 1) -> None:
        """Count the given number of launches of one of our kernels."""
        self.own[self._parts[-1]] += count
        self.names[self._parts[-1], name] += count

    def clear(self) -> None:
        """Forget what was counted."""
        for counts in (self.library, self.own, self.names):
            counts.clear()

    def by_part(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        """Return the function, with its launches counted for a part."""

        @wraps(function)
        def counted(*args: Any, **kwargs: Any) -> Any:
            self._parts.append(part)
            try:
                return function(*args, **kwargs)
            finally:
                self._parts.pop()

        return counted

    def total(self, part: str | None = None) -> int:
        """Return the launches of a part, or of all parts."""
        if part is None:
            return self.library.total() + self.own.total()
        return self.library[part] + self.own[part]

    def table(self, steps: int) -> str:
        """Return launches per step by part, and the most frequent names of each."""
        lines = []
        for part in (*PARTS, REST):
            often = Counter({n: c for (p, n), c in self.names.items() if p == part})
            words = ", ".join(f"{name} {count / steps:g}" for name, count in often.most_common(16))
            library, own = self.library[part] / steps, self.own[part] / steps
            lines.append(f"{part:<48}{library:>9.3f} +{own:>8.3f}   {words}")
        library, own = self.library.total() / steps, self.own.total() / steps
        return "\n".join([*lines, f"{'sum':<48}{library:>9.3f} +{own:>8.3f}"])


class CountedKernels(Compiled):
    """The kernels in C, counted as the CUDA kernels, which have no kernels of few rows."""

    FUSED, FEW_ROWS = False, 0

    def __init__(self, launches: Launches) -> None:
        self.launches = launches

    def call(self, name: str, dtype: torch.dtype, *arguments: Any) -> int:
        """Count the launches of the CUDA kernel, and call the one in C."""
        self.launches.launch(name, _launches(name, *arguments))
        return super().call(name, dtype, *arguments)


@with_operations(IN_CUDA)
class CountedFusedKernels(CountedKernels):
    """The fused kernels: their work in Python is done and counted, their numbers are torch's."""

    FUSED = True

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        meaning = getattr(fused, name, None)
        if meaning is None or getattr(meaning, "__module__", None) != fused.__name__:
            return found

        def counted(*arguments: Any) -> Any:
            out = found(*arguments)
            with _disable_current_modes():
                _fill(out, meaning(*arguments))
            return out

        return counted

    def call(self, name: str, dtype: torch.dtype, *arguments: Any) -> int:
        """Count the launches of the CUDA kernel; call the one in C unless it is fused."""
        if KERNELS[name].file in FUSED_FILES or name == "argmax_loss_all":
            self.launches.launch(name)
            return 0
        return super().call(name, dtype, *arguments)


def _fill(room: Any, values: Any) -> None:
    """Fill all tensors of a result; sums by example replace the sums by its parts."""
    if isinstance(values, Tensor):
        if room.shape != values.shape:
            room.zero_()
            room = room[:, : values.shape[1]]
        room.copy_(values)
    elif isinstance(values, Gaussian):
        _fill((room.tau, room.rho), (values.tau, values.rho))
    elif values is not None:
        for part, value in zip(room, values, strict=True):
            _fill(part, value)


def _launches(name: str, *arguments: Any) -> int:
    if KERNELS[name].grid is not grids.weight_sums:
        return 1
    _, rows, inputs, outputs = (int(number) for number in flattened(arguments)[0])
    return 1 if grids.parts(rows, inputs, outputs) == 1 else 2


def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch, counts: Launches) -> None:
    """Let convolutions take a GPU's paths, and count launches by part."""
    monkeypatch.setattr(base, "as_on_a_gpu", lambda values: True)
    for part, functions in PARTS.items():
        for owner, name in functions:
            monkeypatch.setattr(owner, name, counts.by_part(owner.__dict__[name], part))


def as_module(kernels: Compiled) -> ModuleType:
    """Return kernels in the form that layers expect."""
    module = ModuleType("counted")
    names = [name for name in dir(kernels) if not name.startswith("_")]
    module.__dict__.update({name: getattr(kernels, name) for name in names})
    return module


def trainer_of(
    method: MessagePassing, problem: Problem, kernels: Compiled, monkeypatch: pytest.MonkeyPatch
) -> trainer.Trainer:
    """Return a fit before its start, with these kernels."""
    module = as_module(kernels)
    monkeypatch.setattr("bnnbench.methods.message_passing.method.kernels_for", lambda *_: module)
    return method._trainer([problem], [torch.Generator().manual_seed(0)], SpectralPrior())
