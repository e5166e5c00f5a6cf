"""A stand-in for a device graph: a computation can be repeated in place."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves

from tests.methods.message_passing.launches import ALLOCATIONS


def name_of(func: Any) -> str:
    return func._schema.name.split("::")[1]


class Recorder(TorchDispatchMode):
    """A graph on a CPU: the work's effects on memory, for repetition; capture changes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Callable[[], object]] = []
        self.own: set[int] = set()
        self.before: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self.saw((args, kwargs))
        out = func(*args, **kwargs)
        outputs = [t for t in tree_leaves(out) if isinstance(t, Tensor)]
        if func.is_view or name_of(func) in ALLOCATIONS:
            if not func.is_view and name_of(func) != "_unsafe_view":
                self.own.update(t.untyped_storage().data_ptr() for t in outputs)
            self.steps.append(lambda kept=(args, out): kept)  # keeps its memory
            return out
        taken = {t.untyped_storage().data_ptr() for t in _tensors(args)}
        self.own.update({t.untyped_storage().data_ptr() for t in outputs} - taken)

        def again() -> None:
            found = func(*args, **kwargs)
            leaves = [t for t in tree_leaves(found) if isinstance(t, Tensor)]
            for room, value in zip(outputs, leaves, strict=True):
                if room is not value:
                    room.copy_(value)

        self.steps.append(again)
        return out

    def saw(self, args: Any) -> None:
        """Remember external memory as it is before the work."""
        with _disable_current_modes():
            for t in _tensors(args):
                storage = t.untyped_storage()
                if storage.data_ptr() not in self.own | self.before.keys():
                    self.before[storage.data_ptr()] = storage, storage.clone()

    def replay(self) -> None:
        for step in self.steps:
            step()


def _tensors(args: Any) -> list[Tensor]:
    return [t for t in tree_leaves(args) if isinstance(t, Tensor)]
