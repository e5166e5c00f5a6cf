"""The posterior of probabilistic backpropagation: a Gaussian for every weight.

All weights are rows of one matrix of `columns` numbers, a multiple of eight. A hidden layer has a
row for every input, and its bias last; a row holds the weights to all units. The last layer has a
row for every output. The rest of a row is padding, which no unit reads.
"""

import math
from dataclasses import dataclass, field
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor

from bnnbench.methods.compiled import LANES


def padded(units: int) -> int:
    """Return the number of columns for `units` and a bias unit."""
    return (units // LANES + 1) * LANES


@dataclass(frozen=True)
class Layout:
    """Positions of a perceptron's weights; `widths` are from the features to the outputs."""

    widths: tuple[int, ...]

    @property
    def hidden(self) -> int:
        """The number of hidden layers."""
        return len(self.widths) - 2

    @property
    def columns(self) -> int:
        """The length of a row."""
        return max(padded(units) for units in (self.widths[1:-1] or self.widths[:1]))

    @property
    def rows(self) -> int:
        """The total number of rows of all layers."""
        return sum(units + 1 for units in self.widths[:-2]) + self.widths[-1]

    @property
    def weights(self) -> int:
        """The number of weights, biases included."""
        return sum((inputs + 1) * units for inputs, units in pairwise(self.widths))

    def layers(
        self, values: Float[Tensor, "rows columns"]
    ) -> list[Float[Tensor, "_units _inputs"]]:
        """Return views of the weights of each layer, a row per unit and the bias last."""
        views, start = [], 0
        for inputs, units in pairwise(self.widths[:-1]):
            views.append(values[start : start + inputs + 1, :units].T)
            start += inputs + 1
        return [*views, values[start:, : self.widths[-2] + 1]]


@dataclass
class State:
    """The approximate posterior, and the prior factors in it.

    A prior factor has a precision (its mean remains 0), a shape, which is added to the shape of the
    weights' precision, and a rate, which is subtracted from its rate. `layout` defines rows and
    columns.
    """

    layout: Layout
    mean: Float[Tensor, "rows columns"]
    variance: Float[Tensor, "rows columns"]
    factor_precision: Float[Tensor, "rows columns"]
    factor_shape: Float[Tensor, "rows columns"]
    factor_rate: Float[Tensor, "rows columns"]
    prior: Float[Tensor, "2"]
    """Shape and rate of the Gamma of the weights' precision."""
    noise: Float[Tensor, "outputs 2"]
    """Shape and rate of the Gamma of each output's noise precision; no rows for a classifier."""
    learns_noise: bool
    counts: Int[Tensor, "3"] = field(default_factory=lambda: torch.zeros(3, dtype=torch.int64))
    """Numbers of rejected updates, indexed by the constants in `kernels/constants.py`."""

    @property
    def noise_variance(self) -> Float[Tensor, " outputs"]:
        """The mean of the noise variance of each output."""
        return self.noise[:, 1] / (self.noise[:, 0] - 1)

    @property
    def changing(self) -> list[Tensor]:
        """The tensors that the filter changes, for checkpoints."""
        factors = [self.factor_precision, self.factor_shape, self.factor_rate]
        return [self.mean, self.variance, *factors, self.prior, self.noise, self.counts]

    def is_proper(self) -> bool:
        """Return whether every weight has a finite mean and a positive, finite variance."""
        means = [mean.isfinite().all() for mean in self.layout.layers(self.mean)]
        variances = [
            (variance.isfinite() & (variance > 0)).all()
            for variance in self.layout.layers(self.variance)
        ]
        return bool(torch.stack([*means, *variances]).all())


def initial(
    layout: Layout,
    prior: tuple[float, float],
    noise: Float[Tensor, "outputs 2"],
    learns_noise: bool,
    rng: torch.Generator,
) -> State:
    """Return the posterior of only the prior, with noise of variance 1/inputs added to its means.

    If prior factors enter a uniform posterior one after another, they leave the Gamma of their
    precision (shape, rate) unchanged, and every weight N(0, rate/(shape - 1)).
    """
    shape, rate = prior
    size = layout.rows, layout.columns
    mean, variance = torch.zeros(size, dtype=torch.float64), torch.ones(size, dtype=torch.float64)
    variance[layout.rows - layout.widths[-1] :] = 0  # the last layer's padding is read
    for means, variances in zip(layout.layers(mean), layout.layers(variance), strict=True):
        draws = torch.empty(means.shape, dtype=torch.float64, device=rng.device)
        means.copy_(draws.normal_(generator=rng) / math.sqrt(means.shape[1]))
        variances.fill_(rate / (shape - 1))
    return State(
        layout,
        mean,
        variance,
        torch.full(size, (shape - 1) / rate, dtype=torch.float64),
        torch.zeros(size, dtype=torch.float64),
        torch.zeros(size, dtype=torch.float64),
        torch.tensor(prior, dtype=torch.float64),
        noise.clone(),
        learns_noise,
    )


def with_bias(inputs: Float[Tensor, "points features"]) -> Float[Tensor, "points columns"]:
    """Return the inputs in float64, followed by a one and padded with zeros."""
    points, features = inputs.shape
    rows = torch.zeros(points, padded(features), dtype=torch.float64)
    rows[:, :features] = inputs
    rows[:, features] = 1
    return rows
