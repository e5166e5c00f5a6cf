"""An architecture as a function of flat weight vectors, for several members side by side."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple, Protocol, get_args, runtime_checkable

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from methods.architecture_shapes import (
    ParameterSlice,
    Shape,
    output_shape,
    parameter_slices,
    running_slices,
)
from methods.architectures import Architecture, Layer, Residual
from methods.initialisation import Initialisation, fill
from methods.torch_layers import RULES, Noise, Pass, Rule

_Own = tuple[tuple[str, int], ...]
"""A layer's slices: the name of each, and its number in flat vectors."""


class _Step(NamedTuple):
    """One layer: its rule, and the numbers of its parameters and running statistics."""

    rule: Rule
    layer: Layer
    parameters: _Own
    buffers: _Own


class _Fork(NamedTuple):
    """A Residual: two programs whose results are added."""

    body: "_Program"
    shortcut: "_Program"


_Program = tuple[_Step | _Fork, ...]


@runtime_checkable
class Activations(Protocol):
    """What flows through a network: a tensor, or what rules of a method's own understand."""

    def __len__(self) -> int: ...

    def __add__(self, other: Any, /) -> Any: ...

    @property
    def shape(self) -> Sequence[int]: ...

    def expand(self, *sizes: int) -> Any: ...


class TorchNetwork:
    """An architecture as a function of flat weight vectors, one per member.

    Member `m` of a call equals the call with member `m` alone: bit for bit where one CPU thread
    computes, up to rounding elsewhere, since threads divide a batch of products otherwise.

    `rules` replace the built-in ones, for a method whose layers compute otherwise; such a
    method may pass several stacks of weights (a mean and a standard deviation, say), and its
    rules get the layer's parameters out of each. Raises ValueError for a layer without rule.
    """

    def __init__(
        self,
        architecture: Architecture,
        input_shape: Shape,
        rules: Mapping[type[Layer], Rule] | None = None,
    ) -> None:
        self.architecture = architecture
        self.input_shape = input_shape
        self.output_shape = output_shape(architecture, input_shape)
        self.parameters = parameter_slices(architecture, input_shape)
        self.buffers = running_slices(architecture, input_shape)
        self.parameter_count = sum(part.size for part in self.parameters)
        self.buffer_count = sum(part.size for part in self.buffers)
        self._program = _compile(
            architecture,
            RULES | dict(rules or {}),
            _numbers(self.parameters),
            _numbers(self.buffers),
        )

    def __call__(
        self,
        weights: Float[Tensor, "#members parameters"] | Sequence[Tensor],
        inputs: Float[Tensor, "#members points *features"] | Activations,
        *,
        buffers: Float[Tensor, "#members buffers"] | None = None,
        training: bool = False,
        noise: Noise | None = None,
        rngs: Sequence[Generator] | None = None,
        momentum: float | None = None,
    ) -> Any:
        """Return each member's outputs, `members points *outputs`.

        What has a leading axis of 1 is shared by all members; with `rngs`, there are as many
        members as generators. `training` takes batch statistics and moves `buffers` in place.
        `noise` is "per_example" in training and otherwise "off" unless given; member `m`
        draws from `rngs[m]` alone. `momentum` replaces that of every BatchNorm.
        Inputs that are no tensor pass through the network as they are, and the rules see them.
        """
        stacks = (weights,) if isinstance(weights, Tensor) else tuple(weights)
        members = max(len(inputs), len(rngs or ()), *map(len, stacks))
        if training and buffers is not None and len(buffers) != members:
            raise ValueError(f"needed buffers of {members} members; got {len(buffers)}")
        if noise not in (None, *get_args(Noise)):
            raise ValueError(f"needed noise out of {get_args(Noise)}; got {noise!r}")
        now = Pass(training, noise or ("per_example" if training else "off"), rngs, momentum)
        views = [_views(_expand(stack, members), self.parameters) for stack in stacks]
        statistics = [] if buffers is None else _views(_expand(buffers, members), self.buffers)
        return _run(self._program, _expand(inputs, members), views, statistics, now)

    def initial_weights(
        self,
        rngs: Sequence[Generator],
        rule: Initialisation = "torch",
        dtype: torch.dtype = torch.float32,
    ) -> Float[Tensor, "members parameters"]:
        """Return one weight vector per generator, drawn from it alone, where it lives."""
        weights = torch.empty(len(rngs), self.parameter_count, dtype=dtype, device=rngs[0].device)
        for row, rng in zip(weights, rngs, strict=True):
            for part in self.parameters:
                fill(row[part.offset : part.stop], part, rule, rng)
        return weights

    def initial_buffers(
        self, weights: Float[Tensor, "members parameters"]
    ) -> Float[Tensor, "members buffers"]:
        """Return the statistics of no data, mean 0 and variance 1, beside these weights."""
        buffers = weights.new_zeros(len(weights), self.buffer_count)
        for part in self.buffers:
            if part.name == "running_variance":
                buffers[:, part.offset : part.stop] = 1
        return buffers


def _compile(
    architecture: Architecture,
    rules: Mapping[type[Layer], Rule],
    parameters: Mapping[str, _Own],
    buffers: Mapping[str, _Own],
    prefix: str = "",
) -> _Program:
    steps: list[_Step | _Fork] = []
    for index, layer in enumerate(architecture):
        path = f"{prefix}{index}"
        if isinstance(layer, Residual):
            body = _compile(layer.body, rules, parameters, buffers, f"{path}.body.")
            shortcut = _compile(layer.shortcut, rules, parameters, buffers, f"{path}.shortcut.")
            steps.append(_Fork(body, shortcut))
        elif type(layer) in rules:
            own = parameters.get(path, ()), buffers.get(path, ())
            steps.append(_Step(rules[type(layer)], layer, *own))
        else:
            raise ValueError(f"TorchNetwork cannot compute {type(layer).__name__} (layer {path})")
    return tuple(steps)


def _run(
    program: _Program,
    x: Any,
    stacks: Sequence[Sequence[Tensor]],
    statistics: Sequence[Tensor],
    now: Pass,
) -> Any:
    for step in program:
        if isinstance(step, _Fork):
            x = _run(step.body, x, stacks, statistics, now) + _run(
                step.shortcut, x, stacks, statistics, now
            )
            continue
        own = [{name: views[number] for name, number in step.parameters} for views in stacks]
        if statistics and step.buffers:
            own[0] |= {name: statistics[number] for name, number in step.buffers}
        x = step.rule(step.layer, own, x, now)
    return x


def _numbers(slices: Sequence[ParameterSlice]) -> dict[str, _Own]:
    """Return every layer's own slices, by its path."""
    groups = groupby(enumerate(slices), key=lambda pair: pair[1].owner)
    return {owner: tuple((part.name, number) for number, part in own) for owner, own in groups}


def _views(
    flat: Float[Tensor, "members parameters"], slices: Sequence[ParameterSlice]
) -> list[Tensor]:
    """Return each parameter with its shape behind the axis of members."""
    parts = flat.split([part.size for part in slices], 1)
    return [
        piece.view(len(flat), *part.shape) if len(part.shape) > 1 else piece
        for piece, part in zip(parts, slices, strict=True)
    ]


def _expand(stacked: Any, members: int) -> Any:
    if len(stacked) == members:
        return stacked
    if len(stacked) == 1:
        return stacked.expand(members, *stacked.shape[1:])
    raise ValueError(f"needed 1 or {members} members; got {len(stacked)}")
