"""Operations with a common pattern: their arguments, in a kernel's order and layout.

A signature names the tensors that a kernel reads, an arrow, and those that it fills. `name:2` is a
message, `name:3` the sums of a product (stacks.py), and `name:0` a number, which kernels take
before all tensors. Every argument but a number may be None.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.kernels.layouts import by_rows, features_last, laid_as

Argument = Tensor | tuple[int, ...] | int | float | None
Call = Callable[..., int]
"""Runs compiled code, given its name, the messages' type and `Argument`s; returns its status."""

PARTS = 4
"""Number of parts into which an example's positions are split, if they are many."""
SPLIT_FROM = 256
"""Minimum number of positions that are split."""
Returned = Callable[[Tensor, int], tuple[Any, tuple[Tensor, ...]]]
"""Returns an operation's result, and the tensors in it for a kernel to fill, made from the kernel's
first tensor and the number of parts of an example."""


class Signature:
    """An operation's arguments in the order of a kernel.

    `order` names them in the order of the operation's definition, if it is another.
    """

    def __init__(self, text: str, order: str) -> None:
        read, _, filled = text.partition("->")
        widths = dict(_named(word) for word in (*read.split(), *filled.split()))
        self.names = tuple(order.split() or widths)
        places = {name: (self.names.index(name), width) for name, width in widths.items()}
        self.numbers = [place for place, width in places.values() if not width]
        self.inputs, self.filled = (
            [places[name] for name, width in map(_named, part.split()) if width]
            for part in (read, filled)
        )


def _named(word: str) -> tuple[str, int]:
    name, _, width = word.partition(":")
    return name, int(width or 1)


def tensors_of(arguments: Sequence[Any], places: Sequence[tuple[int, int]]) -> list[Tensor | None]:
    """Return the tensors of some arguments, None for each of an absent one."""
    tensors: list[Tensor | None] = []
    for place, width in places:
        value = arguments[place]
        if width == 1:
            tensors.append(value)
        elif value is None:
            tensors += [None] * width
        else:
            tensors += (value.tau, value.rho) if width == 2 else value.parts()
    return tensors


class OnUnits:
    """A kernel on units as rows of features (`by_rows`); features' own tensors have no rows."""

    def __init__(
        self,
        signature: str,
        returned: Returned | None = None,
        order: str = "",
        split: bool = False,
    ) -> None:
        self.signature = Signature(signature, order)
        self.returned, self.split = returned, split

    def __call__(self, call: Call, name: str, *arguments: Any) -> Any:
        signature = self.signature
        inputs = _as_rows(tensors_of(arguments, signature.inputs))
        filled, result = tensors_of(arguments, signature.filled), None
        first = inputs[0]
        assert first is not None
        parts = parts_of(first) if self.split else 1
        if self.returned:
            result, new = self.returned(first, parts)
            filled += new
        sizes, tensors = by_rows(first, inputs, _as_rows(filled), parts)
        numbers = [float(arguments[k]) for k in signature.numbers]
        call(name, first.dtype, sizes, *numbers, *tensors)
        return result


class OnWeights:
    """A kernel on the elements of weights in one dense layout, that of the last filled tensor."""

    def __init__(self, signature: str, order: str = "") -> None:
        self.signature = Signature(signature, order)

    def __call__(self, call: Call, name: str, *arguments: Any) -> None:
        signature = self.signature
        filled = tensors_of(arguments, signature.filled)
        pattern = filled[-1]
        assert pattern is not None
        inputs = laid_as(pattern, tensors_of(arguments, signature.inputs), filled)
        numbers = [float(arguments[k]) for k in signature.numbers]
        call(name, pattern.dtype, pattern.numel(), *numbers, *inputs, *filled)


def parts_of(values: Tensor) -> int:
    """Return the number of parts into which the positions of an example are split.

    Parts are processed in parallel: many positions of few examples leave a GPU idle.
    """
    count = prod(values.shape[3:])
    return PARTS if count >= SPLIT_FROM and count % PARTS == 0 else 1


def _as_rows(tensors: Sequence[Tensor | None]) -> list[Tensor | None]:
    return [t if t is None or t.dim() > 2 else t[:, None] for t in tensors]


def message(first: Tensor, parts: int) -> tuple[Gaussian, tuple[Tensor, ...]]:
    """Return room for a message to every unit."""
    return _with_tensors(features_last(first))


def message_of_examples(first: Tensor, parts: int) -> tuple[Gaussian, tuple[Tensor, ...]]:
    """Return room for a message to every example's features."""
    return _with_tensors(_sums(first, parts))


def two_messages_of_features(
    first: Tensor, parts: int
) -> tuple[list[Gaussian], tuple[Tensor, ...]]:
    """Return room for two messages to features."""
    pairs = [_with_tensors(first.new_empty(first.shape[0], first.shape[2])) for _ in range(2)]
    return [message for message, _ in pairs], tuple(t for _, pair in pairs for t in pair)


def one_sum(first: Tensor, parts: int) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return room for sums over the positions of every example, or of its parts."""
    total = _sums(first, parts)
    return total, (total,)


def two_sums(first: Tensor, parts: int) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return room for two such sums."""
    totals = _sums(first, parts), _sums(first, parts)
    return totals, totals


def _with_tensors(room: Tensor) -> tuple[Gaussian, tuple[Tensor, ...]]:
    filled = Gaussian(room, torch.empty_like(room))
    return filled, (filled.tau, filled.rho)


def _sums(first: Tensor, parts: int) -> Tensor:
    members, examples, features = first.shape[:3]
    return first.new_empty(members, examples * parts, features)
