"""The parts of a checkpoint: reading and restoring their state."""

import hashlib
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

Part = Tensor | np.ndarray | torch.Generator | torch.optim.Optimizer | list | deque | Any
"""An object that changes in the course of a fit.

Tensors, arrays, generators, lists and deques keep their identity; an optimiser includes the
tensors that it moves. Anything else has `state()`, which returns plain values, and `resume()`.
Plain values are tensors, numbers, text, None, and lists, tuples and dictionaries of plain values.
"""


class Attributes:
    """Some attributes of an object: plain values, or tuples, lists or deques of plain values."""

    def __init__(self, owner: object, *names: str) -> None:
        self._owner, self._names = owner, names

    def state(self) -> dict[str, Any]:
        """Return the attributes by name."""
        return {name: getattr(self._owner, name) for name in self._names}

    def resume(self, state: dict[str, Any]) -> None:
        """Set the attributes; a deque stays one."""
        for name, value in state.items():
            present = getattr(self._owner, name)
            new = deque(value, present.maxlen) if isinstance(present, deque) else value
            setattr(self._owner, name, new)


def state_of(part: Part) -> Any:
    """Return the state of a part as plain values, which may share its memory."""
    match part:
        case Tensor() | list() | deque():
            return _plain(part)
        case np.ndarray():
            return torch.from_numpy(part)
        case torch.Generator():
            return part.get_state()
        case torch.optim.Optimizer():
            return {"moved": _plain(_moved_by(part)), "own": _plain(part.state_dict())}
    return _plain(part.state())


@torch.no_grad()
def resume(part: Part, state: Any) -> None:
    """Set a part to a state."""
    match part:
        case Tensor():
            part.copy_(state)
        case np.ndarray():
            np.copyto(part, state.numpy(), casting="no")
        case list():
            part[:] = state
        case deque():
            part.clear()
            part.extend(state)
        case torch.Generator():
            part.set_state(state)
        case torch.optim.Optimizer():
            for tensor, value in zip(_moved_by(part), state["moved"], strict=True):
                tensor.copy_(value)
            part.load_state_dict(state["own"])
        case _:
            part.resume(state)


def _moved_by(optimiser: torch.optim.Optimizer) -> list[Tensor]:
    return [tensor for group in optimiser.param_groups for tensor in group["params"]]


def _plain(value: Any) -> Any:
    """Return the value without gradients; a view is copied, without the memory around it."""
    match value:
        case Tensor():
            owns_storage = value.untyped_storage().nbytes() == value.nbytes
            return value.detach() if owns_storage else value.detach().clone()
        case np.generic():
            return value.item()
        case dict():
            return {name: _plain(one) for name, one in value.items()}
        case tuple():
            return tuple(map(_plain, value))
        case list() | deque():
            return [_plain(one) for one in value]
        case int() | float() | str() | None:
            return value
    raise TypeError(f"a checkpoint is made of tensors and plain values, not {type(value)}")


def fingerprint(*states: Any) -> str:
    """Return a digest of all numbers, types and shapes in the states."""
    digest = hashlib.sha256()
    for piece in _pieces(states):
        digest.update(piece)
    return digest.hexdigest()


def _pieces(value: Any) -> Iterator[Any]:
    """Yield bytes that distinguish a plain value from any other."""
    match value:
        case Tensor():
            yield f"{tuple(value.shape)} {value.dtype};".encode()
            numbers = value.detach().cpu().reshape(-1)
            if numbers.stride() != (1,):
                numbers = numbers.clone(memory_format=torch.contiguous_format)
            yield numbers.view(torch.uint8).numpy().data
        case dict():
            yield from _pieces(list(value.items()))
        case tuple() | list():
            yield f"{len(value)}(".encode()
            for one in value:
                yield from _pieces(one)
        case _:
            yield f"{value!r};".encode()
