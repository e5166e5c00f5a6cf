"""Tensors in the layouts that kernels read: dense and equal; copied only if necessary."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod

import torch
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian

MOST_POOL = 11
"""Maximum side of a window: products of 120 numbers below 2 are finite in any type."""


def alike(*tensors: Tensor) -> tuple[list[Tensor], Gaussian]:
    """Return tensors of one shape in one dense layout, and a result buffer.

    The layout is the first tensor's if its members are stored one after another, and contiguous
    otherwise.
    """
    first = tensors[0]
    _check(first, first.shape, *tensors)
    out = torch.empty_like(first)
    if first.dim() and first.shape[0] > 1 and out.stride(0) * first.shape[0] != first.numel():
        out = torch.empty_like(first, memory_format=torch.contiguous_format)
    return [_laid_as(out, t) for t in tensors], Gaussian(out, torch.empty_like(out))


def laid_as(
    pattern: Tensor, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """Return tensors in the dense layout of `pattern`, copied if theirs differs.

    The layout of outputs, which cannot be copied, is only checked.
    """
    given = [t for t in (*inputs, *outputs) if t is not None]
    _check(pattern, pattern.shape, pattern, *given)
    for t in (pattern, *outputs):
        if t is not None and not _is_laid_as(pattern.shape, pattern.stride(), t.stride()):
            raise ValueError(f"needed results in one dense layout; got strides {t.stride()}")
    return [t if t is None else _laid_as(pattern, t) for t in inputs]


def contiguous(
    pattern: Tensor, shape: Sequence[int], *tensors: Tensor, dtype: torch.dtype | None = None
) -> list[Tensor]:
    """Return contiguous tensors, checked to have this shape.

    If `dtype` is given, they are converted to it; otherwise it must be the type of `pattern`.
    """
    if dtype is not None:
        tensors = tuple(t.to(dtype) for t in tensors)
    _check(pattern, shape, *tensors, dtype=dtype)
    return [t.contiguous() for t in tensors]


def by_rows(
    pattern: Tensor,
    inputs: Sequence[Tensor | None],
    outputs: Sequence[Tensor | None],
    parts: int = 1,
) -> tuple[tuple[int, ...], list[Tensor | None]]:
    """Return lengths and strides of tensors of units as rows of features, and the tensors.

    Their shape is `members examples features *positions`, like `pattern`. A tensor without
    positions, or with one example, is reread for each. An example may be split into several
    `parts` with equal numbers of positions; then a tensor without positions has parts instead of
    examples. Inputs are copied if their features are not contiguous or their parts not evenly
    spaced; outputs (`features_last`) never need that.
    """
    tensors: list[Tensor | None] = [*inputs, *outputs]
    layouts = []
    for t in tensors:
        if t is None:
            layouts.append(None)
            continue
        if t.dtype != pattern.dtype or t.device != pattern.device:
            _check(pattern, t.shape, t)
        layouts.append((t.shape, t.stride()))
    numbers, scattered = _row_numbers(pattern.shape, tuple(layouts), parts)
    if not scattered:
        return numbers, tensors
    assert max(scattered) < len(inputs), "room for results has its features last"
    for k in scattered:
        t = tensors[k]
        tensors[k] = t if t is None else features_last(t).copy_(t)
    return by_rows(pattern, tensors[: len(inputs)], outputs, parts)


@cache
def _row_numbers(
    whole: torch.Size, layouts: tuple[tuple[torch.Size, tuple[int, ...]] | None, ...], parts: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return lengths and strides, and the indices of tensors that are not rows of features."""
    positions = prod(whole[3:])
    numbers, scattered = [whole[0], whole[1] * parts, positions // parts, whole[2]], []
    for k, layout in enumerate(layouts):
        strides = (0, 0, 0) if layout is None else _row_strides(whole, *layout, parts)
        if strides is None:
            scattered.append(k)
        numbers += strides or (0, 0, 0)
    return tuple(numbers), tuple(scattered)


def features_last(pattern: Tensor) -> Tensor:
    """Return a buffer in which features are contiguous, like channels-last images."""
    strides = _features_last(pattern.shape)
    return torch.empty_strided(pattern.shape, strides, dtype=pattern.dtype, device=pattern.device)


@cache
def _features_last(shape: torch.Size) -> tuple[int, ...]:
    members, examples, features, *sides = shape
    room = torch.empty(members, examples, *sides, features, device="meta")
    return room.movedim(-1, 2).stride()


def _row_strides(
    whole: torch.Size, shape: torch.Size, strides: tuple[int, ...], parts: int
) -> tuple[int, int, int] | None:
    """Return the strides of members, of examples or their parts, and of positions.

    None if features are not contiguous, or positions or parts are not evenly spaced.
    """
    members, examples, features = whole[:3]
    if shape not in (whole, (members, examples * parts, features), (members, 1, features)):
        raise ValueError(f"needed tensors of shape {tuple(whole)}; got {tuple(shape)}")
    member, example, feature, *sides = strides
    example = example if shape[1] > 1 else 0
    if feature != 1 and features > 1:
        return None
    if not sides:
        return member, example, 0
    row, column = sides
    height, width = shape[3:]
    position = row if width == 1 else column
    if width > 1 and height > 1 and row != width * column:
        return None
    if parts == 1:
        return member, example, position
    part = position * (height * width // parts)
    return (member, part, position) if examples == 1 or example == parts * part else None


def _check(
    pattern: Tensor, shape: Sequence[int], *tensors: Tensor, dtype: torch.dtype | None = None
) -> None:
    """Check shapes, types and devices, because kernels read memory unchecked."""
    dtype = dtype or pattern.dtype
    for t in tensors:
        if t.shape != shape or t.dtype != dtype or t.device != pattern.device:
            raise ValueError(
                f"needed tensors of shape {tuple(shape)}, type {dtype}, on {pattern.device}; "
                f"got {tuple(t.shape)}, {t.dtype}, {t.device}"
            )


@cache
def _is_laid_as(shape: torch.Size, pattern: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether a pattern has no gaps between elements and the strides equal its own."""
    sides = [each for each in zip(pattern, shape, strides, strict=True) if each[1] > 1]
    room = 1
    for apart, side, stride in sorted(sides):
        if not apart == room == stride:
            return False
        room *= side
    return True


def _laid_as(pattern: Tensor, t: Tensor) -> Tensor:
    return t if t.stride() == pattern.stride() else torch.empty_like(pattern).copy_(t)


@dataclass(frozen=True, slots=True)
class Images:
    """Messages as `images channels height width`, channels first or last in memory."""

    inputs: list[Tensor]
    size: int
    shape: tuple[int, ...]
    """The caller's shape."""

    @classmethod
    def of(cls, z: Gaussian, size: int) -> "Images":
        """Return messages with any number of leading axes, for pooling by squares of this size."""
        shape = tuple(z.rho.shape)
        height, width = shape[-2:]
        if not 0 < size <= min(MOST_POOL, height, width):
            raise ValueError(
                f"needed windows of side 1 to {MOST_POOL} that fit into {height} x {width}; "
                f"got {size}"
            )
        _check(z.tau, shape, z.tau, z.rho)
        tau, rho = _as_images(z.tau), _as_images(z.rho)
        layout = _layout(tau)
        return cls([t.contiguous(memory_format=layout) for t in (tau, rho)], size, shape)

    @property
    def count(self) -> int:
        """The number of images."""
        return self.inputs[0].shape[0]

    @property
    def layout(self) -> tuple[int, int, int, int, int]:
        """Channels, height, width, side of the windows, and whether channels are last."""
        last = _layout(self.inputs[0]) == torch.channels_last
        _, channels, height, width = self.inputs[0].shape
        return channels, height, width, self.size, int(last)

    @property
    def pooled(self) -> tuple[int, ...]:
        """The shape of a message to each window."""
        return (*self.shape[:-2], self.shape[-2] // self.size, self.shape[-1] // self.size)

    def windows(self, back: Gaussian) -> list[Tensor]:
        """Return messages from the windows in the layout of the images."""
        _check(self.inputs[0], self.pooled, back.tau, back.rho)
        layout = _layout(self.inputs[0])
        return [_as_images(t).contiguous(memory_format=layout) for t in (back.tau, back.rho)]

    def to_windows(self) -> Gaussian:
        """Return a buffer for messages to the windows."""
        z = self.inputs[0]
        tau = torch.empty(
            (*z.shape[:2], *self.pooled[-2:]),
            dtype=z.dtype,
            device=z.device,
            memory_format=_layout(z),
        )
        return Gaussian(tau, torch.empty_like(tau))

    def to_inputs(self) -> Gaussian:
        """Return a buffer for messages to the inputs; uniform where no window reaches."""
        z = self.inputs[0]
        ragged = prod(self.pooled) * self.size**2 != z.numel()
        make = torch.zeros_like if ragged else torch.empty_like
        return Gaussian(make(z), make(z))

    def shaped(self, filled: Gaussian) -> Gaussian:
        """Return filled messages with the caller's leading axes."""
        lead = self.shape[:-2]
        return Gaussian(*(_with_leading(t, lead) for t in (filled.tau, filled.rho)))


def _as_images(t: Tensor) -> Tensor:
    if t.dim() > 4:
        return t.flatten(0, -4)
    return t[(None,) * (4 - t.dim())]


def _with_leading(t: Tensor, lead: tuple[int, ...]) -> Tensor:
    if len(lead) > 2:
        return t.unflatten(0, lead[:-1])
    return t[(0,) * (2 - len(lead))]


def _layout(t: Tensor) -> torch.memory_format:
    last = t.is_contiguous(memory_format=torch.channels_last) and not t.is_contiguous()
    return torch.channels_last if last else torch.contiguous_format
