"""The distribution of a regression network's output over a box of weights, for each sample."""

from dataclasses import dataclass, field
from typing import get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor

from bnnbench.methods.ciber.boxes import Axes, rotated
from bnnbench.methods.ciber.predictive import AffinePredictive, RectifiedPredictive
from bnnbench.methods.ciber.samples import Dense, Samples
from bnnbench.methods.fitting.settings import LATER, require_choice, require_count

NO_FLOOR = (0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class LastLayer:
    """Weights and bias of the last layer: all, or a number chosen for each point and sample.

    Chosen weights have the largest range times magnitude of their input.
    """

    weights: int | None = None
    axes: Axes = field(default="weights", metadata=LATER)

    def __post_init__(self) -> None:
        require_choice(self, "axes", get_args(Axes))
        if self.weights is not None:
            require_count(self, "weights")
            if self.axes == "principal":
                raise ValueError(
                    "LastLayer needs all weights (weights=None) for a box along principal "
                    f"directions; got {self.weights}"
                )


@dataclass(frozen=True)
class SecondLayer:
    """Weights of the layer before the last with the largest variance along the trajectory.

    If a `unit` is given, only weights that enter this hidden unit, chosen for each point and
    sample by range times magnitude, together with the unit's bias.
    """

    weights: int = 3
    unit: int | None = None

    def __post_init__(self) -> None:
        require_count(self, "weights")
        if self.unit is None and self.weights > 3:
            raise ValueError(
                f"SecondLayer needs at most 3 weights, so that only one unit can have several; "
                f"got {self.weights}"
            )
        if self.unit is not None:
            require_count(self, "unit", least=0)


Collapse = LastLayer | SecondLayer


def collapsed(
    samples: Samples,
    collapse: Collapse | None,
    inputs: Float[Tensor, "points *features"],
    ratio: float,
) -> AffinePredictive | RectifiedPredictive:
    """Return the predictive without a floor; `ratio` is r/σ of the triangular noise.

    If nothing is collapsed, every sample keeps all of its weights.
    """
    last = samples.dense(-1)
    hidden = samples.features(inputs, -1)
    raw = last(hidden)
    half_bases = ratio * samples.noise(raw).sqrt()
    floor = half_bases.new_tensor(NO_FLOOR).expand(1, len(inputs), 4)
    if collapse is None:
        return AffinePredictive(half_bases, floor, raw[..., :1], torch.zeros_like(half_bases))
    if isinstance(collapse, LastLayer):
        principal = collapse.axes == "principal"
        box = _rotated(last, hidden) if principal else _last(last, hidden, collapse.weights)
        return AffinePredictive(half_bases, floor, *box)
    features, second = samples.features(inputs, -3), samples.dense(-3)
    parts = (
        _variable(second, features, collapse.weights)
        if collapse.unit is None
        else _unit(second, features, collapse.weights, collapse.unit)
    )
    outgoing = last.weight[:, 0, parts.units]
    on = second(features)[..., parts.units].clamp(min=0.0)
    offsets = raw[..., :1] - (on * outgoing[:, None]).sum(-1, keepdim=True)
    outgoing = outgoing[:, None].expand(-1, len(inputs), -1)
    return RectifiedPredictive(half_bases, floor, offsets, outgoing, parts.centres, parts.widths)


def _last(layer: Dense, hidden: Tensor, count: int | None) -> tuple[Tensor, Tensor]:
    """Return centres and widths of the first output, with weights and bias collapsed."""
    middle, width = layer.weight_box.middle[0], layer.weight_box.width[0]
    bias, bias_width = layer.bias_box.middle[0], layer.bias_box.width[0]
    widths = hidden.abs() * width
    if count is None or count >= widths.shape[-1]:
        centres = (hidden @ middle)[..., None] + bias
    else:
        widths, indices = widths.topk(count, dim=-1)
        moves = hidden * (middle - layer.weight[:, :1])
        fixed = hidden @ layer.weight[:, 0, :, None]
        centres = fixed + moves.gather(-1, indices).sum(-1, keepdim=True) + bias
    return centres, torch.cat([widths, bias_width.expand(*widths.shape[:-1], 1)], -1)


def _rotated(layer: Dense, hidden: Tensor) -> tuple[Tensor, Tensor]:
    """Return centres and widths of the first output, with weights and bias in one rotated box."""
    box = rotated(torch.cat([layer.weight[:, 0], layer.bias[:, :1]], 1), layer.bounds)
    with_bias = torch.cat([hidden, torch.ones_like(hidden[..., :1])], -1).double()
    along = with_bias @ box.directions
    centres = with_bias @ box.centre + along @ box.sides.middle
    return centres[..., None].to(hidden), (along.abs() * box.sides.width).to(hidden)


@dataclass(frozen=True)
class _Units:
    """The hidden units that collapsed weights enter, and their inputs."""

    units: Int[Tensor, " units"]
    centres: Float[Tensor, "samples points units"]
    widths: Float[Tensor, "samples points units uniforms"]


def _unit(layer: Dense, features: Tensor, count: int, unit: int) -> _Units:
    """Return the input of one unit, with some weights and the bias collapsed."""
    row = torch.tensor([unit], device=features.device)
    box = layer.weight_box
    widths, indices = (features.abs() * box.width[unit]).topk(
        min(count, features.shape[-1]), dim=-1
    )
    moves = features * (box.middle[unit] - layer.weight[:, unit, None])
    fixed = features @ layer.weight[:, unit, :, None]
    bias, bias_width = layer.bias_box.middle[unit], layer.bias_box.width[unit]
    centres = fixed + moves.gather(-1, indices).sum(-1, keepdim=True) + bias
    widths = torch.cat([widths, bias_width.expand(*widths.shape[:-1], 1)], -1)
    return _Units(row, centres, widths[:, :, None])


def _variable(layer: Dense, features: Tensor, count: int) -> _Units:
    """Return the inputs of the units whose weights have the largest variance."""
    variance = layer.weight_box.variance
    best = variance.flatten().topk(min(count, variance.numel())).indices
    rows, columns = best // variance.shape[1], best % variance.shape[1]
    entered, entries = rows.unique(return_counts=True)
    # the unit with several weights, if any, comes first
    units = entered[entries.argsort(descending=True, stable=True)]
    centres = layer(features)[..., units]
    widths = features.new_zeros(*features.shape[:2], len(units), len(best))
    box = layer.weight_box
    for place, (row, column) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
        unit = int((units == row).nonzero())
        value = features[..., column]
        centres[..., unit] += value * (box.middle[row, column] - layer.weight[:, row, column, None])
        widths[..., unit, place] = value.abs() * box.width[row, column]
    return _Units(units, centres, widths)
