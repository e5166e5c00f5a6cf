"""An architecture as a function of flat weight vectors, for several members side by side."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple, Protocol, get_args, runtime_checkable

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from bnnbench.methods.fitting.randomness import Streams
from bnnbench.methods.networks.architectures import (
    AnalyticNorm,
    Architecture,
    Layer,
    Residual,
    TorchModule,
)
from bnnbench.methods.networks.initialisation import Initialisation, fill
from bnnbench.methods.networks.modules.building import initial_buffers, initial_values
from bnnbench.methods.networks.modules.trials import trial_of
from bnnbench.methods.networks.passes import Noise, Pass, Rule
from bnnbench.methods.networks.shapes import (
    ParameterSlice,
    Shape,
    output_shape,
    parameter_slices,
    running_slices,
    walk,
)
from bnnbench.methods.networks.torch_layers import RULES, channel_moments

_Slices = tuple[tuple[str, int], ...]
"""The slices of one layer: name of each, and its index in flat vectors."""


class _Step(NamedTuple):
    """One layer: its rules, and the indices of its parameters and running statistics."""

    rule: Rule
    statistic: Rule | None
    """The rule for the statistic of a single pixel, if a later AnalyticNorm needs it."""
    layer: Layer
    parameters: _Slices
    buffers: _Slices


class _Fork(NamedTuple):
    """A Residual: two programs whose results are added."""

    body: "_Program"
    shortcut: "_Program"


_Program = tuple[_Step | _Fork, ...]


@runtime_checkable
class Activations(Protocol):
    """Values that flow through a network: a tensor, or a type for a method's own rules."""

    def __len__(self) -> int: ...

    def __add__(self, other: Any, /) -> Any: ...

    @property
    def shape(self) -> Sequence[int]: ...

    def expand(self, *sizes: int) -> Any: ...


class TorchNetwork:
    """An architecture as a function of flat weight vectors, one per member.

    Member `m` of a call equals a call with only member `m`: bit for bit on one CPU thread, up to
    rounding elsewhere, since threads divide a batch of products differently.

    `rules` replace the built-in ones, for a method whose layers compute differently. Such a
    method may pass several stacks of weights (a mean and a standard deviation, say), and its
    rules get the layer's parameters from each stack.
    """

    def __init__(
        self,
        architecture: Architecture,
        input_shape: Shape,
        rules: Mapping[type[Layer], Rule] | None = None,
    ) -> None:
        self.arguments: tuple[Any, ...] = (architecture, input_shape, rules)
        self.architecture = architecture
        self.input_shape = input_shape
        self.output_shape = output_shape(architecture, input_shape)
        for placed in walk(architecture, input_shape):
            if isinstance(placed.layer, TorchModule):
                trial_of(placed.layer, placed.input_shape)
        self.parameters = parameter_slices(architecture, input_shape)
        self.buffers = running_slices(architecture, input_shape)
        self.parameter_count = sum(part.size for part in self.parameters)
        self.buffer_count = sum(part.size for part in self.buffers)
        numbers = _numbers(self.buffers)
        self._inputs = tuple(number for _, number in numbers.pop("input", ()))
        self._program = _compile(
            architecture,
            RULES | dict(rules or {}),
            _pixel_rules() if self._inputs else {},
            _numbers(self.parameters),
            numbers,
        )

    def __call__(
        self,
        weights: Float[Tensor, "#members parameters"] | Sequence[Tensor],
        inputs: Float[Tensor, "#members points *features"] | Activations,
        *,
        buffers: Float[Tensor, "#members buffers"] | None = None,
        training: bool = False,
        noise: Noise | None = None,
        rngs: Sequence[Generator] | Streams | None = None,
        momentum: float | None = None,
    ) -> Any:
        """Return each member's outputs, `members points *outputs`.

        Arguments with a leading axis of 1 are shared by all members; with `rngs`, there are as many
        members as generators. `training` uses batch statistics and updates `buffers` in place.
        `noise` defaults to "per_example" in training and to "off" otherwise; member `m` draws only
        from `rngs[m]`. `momentum` replaces every BatchNorm's. AnalyticNorm takes the inputs'
        statistics from `buffers`, the rest from the weights. Inputs that are not tensors pass
        through the network unchanged, for the rules to handle.
        """
        stacks = (weights,) if isinstance(weights, Tensor) else tuple(weights)
        members = max(len(inputs), len(rngs or ()), *map(len, stacks))
        if training and buffers is not None and len(buffers) != members:
            raise ValueError(f"needed buffers of {members} members; got {len(buffers)}")
        if noise not in (None, *get_args(Noise)):
            raise ValueError(f"needed noise out of {get_args(Noise)}; got {noise!r}")
        context = Pass(training, noise or ("per_example" if training else "off"), rngs, momentum)
        views = [_views(_expand(stack, members), self.parameters) for stack in stacks]
        statistics = [] if buffers is None else _views(_expand(buffers, members), self.buffers)
        pixel = None
        if statistics and self._inputs:
            pixel = self._pixel(*(statistics[number].clone() for number in self._inputs))
        return _run(self._program, _expand(inputs, members), pixel, views, statistics, context)[0]

    def __reduce__(self) -> tuple[type["TorchNetwork"], tuple[Any, ...]]:
        """Return the constructor and its arguments, by which a copy is made anew."""
        return type(self), self.arguments

    def _pixel(self, mean: Tensor, variance: Tensor) -> Any:
        from bnnbench.methods.moments.single_pixel import Pixel

        return Pixel.of(mean, variance, self.input_shape[1:])

    def initial_weights(
        self,
        rngs: Sequence[Generator],
        rule: Initialisation = "torch",
        dtype: torch.dtype = torch.float32,
    ) -> Float[Tensor, "members parameters"]:
        """Return one weight vector per generator, drawn only from it and on its device.

        A TorchModule's own constructor draws its weights, whatever the rule.
        """
        weights = torch.empty(len(rngs), self.parameter_count, dtype=dtype, device=rngs[0].device)
        for row, rng in zip(weights, rngs, strict=True):
            modules: dict[str, Mapping[str, Tensor]] = {}
            for part in self.parameters:
                values = row[part.offset : part.stop]
                if not isinstance(part.layer, TorchModule):
                    fill(values, part, rule, rng)
                    continue
                if part.module not in modules:
                    modules[part.module] = initial_values(part.layer, rng)
                values.copy_(modules[part.module][part.name_in_step].flatten())
        return weights

    def initial_buffers(
        self,
        weights: Float[Tensor, "members parameters"],
        inputs: Sequence[Float[Tensor, "points *features"]] = (),
    ) -> Float[Tensor, "members buffers"]:
        """Return initial statistics for these weights: mean 0 and variance 1.

        The statistics of the network's inputs are taken from `inputs`, one set per member, if
        given; a TorchModule's come from its constructor or its file.
        """
        buffers = weights.new_zeros(len(weights), self.buffer_count)
        for part in self.buffers:
            if isinstance(part.layer, TorchModule):
                start = initial_buffers(part.layer)[part.name_in_step]
                buffers[:, part.offset : part.stop] = start.flatten().to(buffers)
            elif part.name.endswith("variance"):
                buffers[:, part.offset : part.stop] = 1
        for row, points in zip(buffers, inputs if self._inputs else (), strict=False):
            row[self.buffers[self._inputs[0]].offset :] = torch.cat(channel_moments(points))
        return buffers


def _compile(
    architecture: Architecture,
    rules: Mapping[type[Layer], Rule],
    pixel_rules: Mapping[type[Layer], Rule],
    parameters: Mapping[str, _Slices],
    buffers: Mapping[str, _Slices],
    prefix: str = "",
) -> _Program:
    steps: list[_Step | _Fork] = []
    for index, layer in enumerate(architecture):
        path = f"{prefix}{index}"
        if isinstance(layer, Residual):
            known = rules, pixel_rules if _normed(architecture[index:]) else {}, parameters, buffers
            body = _compile(layer.body, *known, f"{path}.body.")
            steps.append(_Fork(body, _compile(layer.shortcut, *known, f"{path}.shortcut.")))
        else:
            slices_of_layer = parameters.get(path, ()), buffers.get(path, ())
            needed = prefix or _normed(architecture[index + 1 :])
            statistic = pixel_rules.get(type(layer)) if needed else None
            steps.append(_Step(rules[type(layer)], statistic, layer, *slices_of_layer))
    return tuple(steps)


def _run(
    program: _Program,
    x: Any,
    pixel: Any,
    stacks: Sequence[Sequence[Tensor]],
    statistics: Sequence[Tensor],
    context: Pass,
) -> tuple[Any, Any]:
    """Return the outputs, and the single pixel's statistic after the network, if any."""
    for step in program:
        if isinstance(step, _Fork):
            body = _run(step.body, x, pixel, stacks, statistics, context)
            shortcut = _run(step.shortcut, x, pixel, stacks, statistics, context)
            x = body[0] + shortcut[0]
            pixel = None if body[1] is None or shortcut[1] is None else body[1] + shortcut[1]
            continue
        tensors = [{name: views[number] for name, number in step.parameters} for views in stacks]
        if statistics and step.buffers:
            tensors[0] |= {name: statistics[number] for name, number in step.buffers}
        if pixel is not None and isinstance(step.layer, AnalyticNorm):
            tensors[0] |= pixel.statistic
        x = step.rule(step.layer, tensors, x, context)
        if pixel is not None:
            pixel = step.statistic and step.statistic(step.layer, tensors[:1], pixel, context)
    return x, pixel


def _normed(architecture: Architecture) -> bool:
    """Return whether any layer, including those in branches, is an AnalyticNorm."""
    return any(
        isinstance(layer, AnalyticNorm)
        or (isinstance(layer, Residual) and _normed(layer.body + layer.shortcut))
        for layer in architecture
    )


def _pixel_rules() -> Mapping[type[Layer], Rule]:
    from bnnbench.methods.moments.single_pixel import SINGLE_PIXEL_RULES

    return SINGLE_PIXEL_RULES


def _numbers(slices: Sequence[ParameterSlice]) -> dict[str, _Slices]:
    """Return the slices of every layer, by its path."""
    groups = groupby(enumerate(slices), key=lambda pair: pair[1].step)
    return {
        step: tuple((part.name_in_step, number) for number, part in numbered)
        for step, numbered in groups
    }


def _views(
    flat: Float[Tensor, "members parameters"], slices: Sequence[ParameterSlice]
) -> list[Tensor]:
    """Return each parameter in its shape, after the axis of members."""
    parts = flat.split([part.size for part in slices], 1)
    return [
        piece.view(len(flat), *part.shape) if len(part.shape) != 1 else piece
        for piece, part in zip(parts, slices, strict=True)
    ]


def _expand(stacked: Any, members: int) -> Any:
    if len(stacked) == members:
        return stacked
    if len(stacked) == 1:
        return stacked.expand(members, *stacked.shape[1:])
    raise ValueError(f"needed 1 or {members} members; got {len(stacked)}")
