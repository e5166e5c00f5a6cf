r"""Expectation propagation in a network with one hidden layer.

$$ y_i = v^T a_i + e_i, \quad a_i = (g(h_{i1}), \dots, g(h_{iK}), 1), \quad h_{ik} = w_k^T x_i,
   \quad q = q(v) \prod_k q(w_k), $$

all Gaussian with full covariances. Every row has a Gaussian site on each of its $h_{ik}$, and one
on v in the form of an observation $y_i \sim N(b_i^T v, s_i)$. A cavity omits a share p of the row's
sites (fractional EP with power p). Under the cavities the output is treated as Gaussian, with its
exact mean and variance. Thus the site on v has $b_i = E a_i$,
$s_i = 1/\gamma + p \sum_k Var(g_k) E v_k^2$, and the moments of $h_{ik}$ under its cavity times
$N(y_i | h_{ik}, 1/(p\gamma))$ are computed by quadrature.

Source: Jylänki, Nummenmaa and Vehtari (2014), "Expectation Propagation for Neural Networks with
Sparsity-Promoting Priors".
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

NODES, NODE_WEIGHTS = map(torch.from_numpy, np.polynomial.hermite_e.hermegauss(32))
NODE_WEIGHTS /= math.sqrt(2 * math.pi)
"""Gauss-Hermite nodes of the standard normal distribution, and their weights, which sum to 1."""

ROUNDING = 1e-24
"""Relative variance of outputs that do not vary beyond rounding."""

Unit = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Rows:
    """Training rows; the last feature is 1."""

    inputs: Float64[Tensor, "rows features"]
    targets: Float64[Tensor, " rows"]


@dataclass(frozen=True)
class State:
    """The sites of every row, and both precisions."""

    precision: Float64[Tensor, "rows units"]
    shift: Float64[Tensor, "rows units"]
    """Natural parameters of the sites of h."""
    slopes: Float64[Tensor, "rows outer"]
    variance: Float64[Tensor, " rows"]
    """b and s of the sites of v."""
    of_weights: float
    """Prior precision of every weight, times the number of inputs of its sum."""
    of_noise: float

    def towards(self, new: "State", step: float) -> "State":
        """Return the new precisions, with sites a share `step` of the way to the new ones."""
        names = ("precision", "shift", "slopes", "variance")
        return replace(
            new, **{n: torch.lerp(getattr(self, n), getattr(new, n), step) for n in names}
        )


@dataclass(frozen=True)
class Weights:
    """q(w_k) of every unit, and q(v)."""

    hidden_mean: Float64[Tensor, "units features"]
    hidden_covariance: Float64[Tensor, "units features features"]
    outer_mean: Float64[Tensor, " outer"]
    outer_covariance: Float64[Tensor, "outer outer"]

    def count(self) -> int:
        """Return the total number of weights."""
        return self.hidden_mean.numel() + self.outer_mean.numel()

    def squares(self) -> float:
        """Return the expected sum of squared weights, each times the number of its sum's inputs."""
        hidden = self.hidden_mean.square() + _diagonal(self.hidden_covariance)
        outer = self.outer_mean.square() + _diagonal(self.outer_covariance)
        return float(hidden.shape[1] * hidden.sum() + len(outer) * outer.sum())


def with_one(values: Float64[Tensor, "*shape some"]) -> Float64[Tensor, "*shape more"]:
    """Return the values followed by a constant 1, whose weight is the bias."""
    return torch.cat([values, torch.ones_like(values[..., :1])], -1)


def moments(
    mean: Float64[Tensor, "*shape"], variance: Float64[Tensor, "*shape"], unit: Unit
) -> tuple[Float64[Tensor, "*shape"], Float64[Tensor, "*shape"], Float64[Tensor, "*shape nodes"]]:
    """Return mean and variance of a unit with Gaussian input, and its deviations at all nodes."""
    values = unit(mean[..., None] + variance.sqrt()[..., None] * NODES)
    first = values @ NODE_WEIGHTS
    deviations = values - first[..., None]
    return first, deviations.square() @ NODE_WEIGHTS, deviations


def posterior(rows: Rows, state: State) -> Weights:
    """Return the product of the prior and all sites."""
    x, b = rows.inputs, state.slopes
    hidden = _inverse((x.mT * state.precision.mT[:, None]) @ x, state.of_weights)
    scaled = b.mT / state.variance
    outer = _inverse(scaled @ b, state.of_weights)
    return Weights(
        (hidden @ (state.shift.mT @ x)[..., None])[..., 0], hidden,
        outer @ (scaled @ rows.targets), outer,
    )  # fmt: skip


def inputs_of_units(
    weights: Weights, inputs: Float64[Tensor, "points features"]
) -> tuple[Float64[Tensor, "points units"], Float64[Tensor, "points units"]]:
    """Return means and variances of all h."""
    variances = ((inputs @ weights.hidden_covariance) * inputs).sum(-1)
    return inputs @ weights.hidden_mean.mT, variances.mT


def outputs(
    weights: Weights, inputs: Float64[Tensor, "points features"], unit: Unit
) -> tuple[Float64[Tensor, " points"], Float64[Tensor, " points"]]:
    """Return the exact mean and variance of the network's output under q."""
    first, variances, _ = moments(*inputs_of_units(weights, inputs), unit)
    a, squares = with_one(first), weights.outer_mean.square() + _diagonal(weights.outer_covariance)
    of_outer = ((a @ weights.outer_covariance) * a).sum(-1)
    return a @ weights.outer_mean, of_outer + variances @ squares[:-1]


def refined(
    rows: Rows, state: State, weights: Weights, unit: Unit, power: float
) -> tuple[State, float, float]:
    """Return new sites, the expected sum of squared residuals, and the share of limited sites.

    No site of h has a negative precision: where the new distribution of h would be wider than its
    cavity, only its mean is matched. Thus every cavity is proper, and no update has to be undone.
    The residuals are under the tilted distribution of each output.
    """
    noise, y = 1 / state.of_noise, rows.targets
    # The cavities of h and v.
    mean, spread = inputs_of_units(weights, rows.inputs)
    cavity = 1 / spread - power * state.precision
    centre = (mean / spread - power * state.shift) / cavity
    gain = state.slopes @ weights.outer_covariance
    rest = state.variance / power - (gain * state.slopes).sum(-1)
    error = y - state.slopes @ weights.outer_mean
    v = weights.outer_mean - gain * (error / rest)[:, None]
    covariance = weights.outer_covariance + gain[:, :, None] * gain[:, None] / rest[:, None, None]

    first, variances, deviations = moments(centre, 1 / cavity, unit)
    a, of_one = with_one(first), _diagonal(covariance)[:, :-1]
    output, along = (a * v).sum(-1), (covariance @ a[..., None])[..., 0]
    of_units = variances * (v[:, :-1].square() + of_one)
    uncertain = (a * along).sum(-1) + of_units.sum(-1)

    # If one h is known, its unit deviates from its mean by a known amount.
    located = output[:, None, None] + v[:, :-1, None] * deviations
    others = (noise / power + uncertain)[:, None] - of_units
    slope, curve = 2 * along[:, :-1, None], of_one[..., None]
    scale = others[..., None] + (slope + curve * deviations) * deviations
    logs = NODE_WEIGHTS.log() - 0.5 * ((y[:, None, None] - located).square() / scale + scale.log())
    tilted = logs.softmax(-1)
    offset = tilted @ NODES
    narrowed = (tilted * (NODES - offset[..., None]).square()).sum(-1)  # per cavity variance
    total = cavity / narrowed.clamp(max=1)
    shift = (centre + offset / cavity.sqrt()) * total - centre * cavity
    new = replace(
        state,
        precision=(total - cavity) / power,
        shift=shift / power,
        slopes=a,
        variance=noise + power * of_units.sum(-1),
    )
    noise_share = noise / (noise + uncertain)
    residuals = ((y - output) * noise_share).square() + uncertain * noise_share
    return new, float(residuals.sum()), float((narrowed >= 1).double().mean())


def units_at_work(weights: Weights, inputs: Float64[Tensor, "rows features"], unit: Unit) -> float:
    """Return the effective number of units that contribute to the output's variation.

    It is 0 if the output does not vary beyond rounding.
    """
    first, _, _ = moments(*inputs_of_units(weights, inputs), unit)
    outputs = first * weights.outer_mean[:-1]
    shares = outputs.var(0, correction=0)
    if shares.sum() <= ROUNDING * outputs.square().mean(0).sum():
        return 0.0
    return float(shares.sum().square() / shares.square().sum())


def _inverse(
    precision: Float64[Tensor, "*stack size size"], of_weights: float
) -> Float64[Tensor, "*stack size size"]:
    """Return the covariance of sites and a prior; it is not finite if the sites are not."""
    size = precision.shape[-1]
    prior = of_weights * size * torch.eye(size, dtype=precision.dtype)
    factor, _ = torch.linalg.cholesky_ex(precision + prior)
    return torch.cholesky_inverse(factor)


def _diagonal(matrices: Float64[Tensor, "*stack size size"]) -> Float64[Tensor, "*stack size"]:
    return matrices.diagonal(dim1=-2, dim2=-1)
