r"""Gaussian messages through the network, row by row: an independent second implementation.

Factors are integrated numerically where the package uses formulas, so that the two agree only if
both are right. Options replace the published messages by exact ones. Source: paper 000,
sections 3 and 4.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float64
from numpy import ndarray

from bnnbench.methods.approximation_levels.gauss_legendre import nodes
from bnnbench.methods.approximation_levels.two_units import UNITS, TwoUnits
from bnnbench.methods.base import InferenceDiverged

Message = Float64[ndarray, "2 *shape"]
"""Natural parameters: mean over variance, and one over variance."""
FLOOR = 1e-8
"""The minimum precision of published messages used as divisors."""
LEAST_LOG_MASS = np.log(1e-8)
"""The log density below which two published messages contradict each other."""
ROUNDING = 1e-5


@dataclass(frozen=True)
class Rules:
    """The accuracy of messages."""

    products: Literal["cavity", "marginal"]
    """cavity: moments of a product's factors given all messages to them, by integration, divided
    by the incoming messages. marginal: variational messages, from moments of the other factor's
    marginal, the published rule."""
    floors: bool
    """True replaces messages as published: messages less certain than the incoming ones, and
    messages without a positive precision."""


class Rows:
    """The messages of all rows, and the marginals formed by them and the prior."""

    def __init__(self, model: TwoUnits, rules: Rules) -> None:
        self.rules, self.slope, self.noise = rules, model.slope, model.noise_variance
        self.x, self.y = model.x.numpy(), model.y.numpy()
        self.marginal = message(model.prior_mean.numpy(), model.prior_variance.numpy())
        self.sent = np.zeros((len(self.x), *self.marginal.shape))
        self.to_activations = np.zeros((len(self.x), 2, UNITS))

    def after(self, rounds: int) -> tuple[ndarray, ndarray]:
        """Return mean and variance of every weight after some rounds over all rows.

        Raises `InferenceDiverged` if a message used as a divisor is improper.
        """
        for _ in range(rounds):
            for n in range(len(self.x)):
                self.visit(n)
        return moments(self.marginal)

    def visit(self, n: int) -> None:
        """Replace the messages of one row."""
        cavity = self.marginal - self.sent[n]
        w, b, v, c = np.split(cavity, np.cumsum([UNITS] * 3), axis=1)
        (w_mean, w_variance), (b_mean, b_variance) = moments(w), moments(b)
        parts = w_variance * self.x[n] ** 2, b_variance
        z = message(w_mean * self.x[n] + b_mean, parts[0] + parts[1])
        a = self._forward(z, self.to_activations[n])
        c_mean, c_variance = moments(c)
        if self.rules.products == "marginal":
            second = self.marginal[:, 2 * UNITS : 3 * UNITS]
            terms = Terms(moments(a + self.to_activations[n]), moments(second))
        else:
            terms = Terms(moments(a), moments(v))
        mean, variance = terms.mean.sum() + c_mean, terms.variance.sum() + c_variance
        new = np.empty_like(cavity)
        # The message from the target to each term, given the other terms.
        rest = message(self.y[n] - (mean - terms.mean), self.noise + variance - terms.variance)
        new[:, 3 * UNITS :] = message(
            self.y[n] - (mean - c_mean), self.noise + variance - c_variance
        )
        if self.rules.products == "marginal":
            (a_mean, a_variance), (v_mean, v_variance) = terms.inputs, terms.weights
            to_v = np.stack([a_mean * rest[0], (a_mean**2 + a_variance) * rest[1]])
            to_a = np.stack([v_mean * rest[0], (v_mean**2 + v_variance) * rest[1]])
        else:
            to_a, to_v = product(a, v, rest)
        new[:, 2 * UNITS : 3 * UNITS] = to_v
        if self.rules.floors:
            to_a = floored(to_a)
        self.to_activations[n] = to_a
        to_z = self._backward(z, to_a)
        value, spread = to_z[0] / to_z[1], 1 / to_z[1]
        new[:, UNITS : 2 * UNITS] = message(value - w_mean * self.x[n], spread + parts[0])
        new[:, :UNITS] = self.x[n] * message(value - b_mean, spread + parts[1])
        new[1, :UNITS] *= self.x[n]
        self.marginal, self.sent[n] = cavity + new, new

    def _forward(self, z: Message, a: Message) -> Message:
        """Return the message to the activations; `a` is their last message back."""
        direct = message(*bent(z, np.zeros_like(a), self.slope).activation)
        belief = bent(z, a, self.slope)
        exact = message(*belief.activation) - a
        usable = a[1] != 0
        if self.rules.floors:
            usable = (
                (a[1] > 0)
                & (belief.log_mass >= LEAST_LOG_MASS)
                & (exact[1] >= z[1] * (1 - ROUNDING))
            )
        return np.where(usable, exact, direct)

    def _backward(self, z: Message, a: Message) -> Message:
        """Return the message to the pre-activations."""
        belief = bent(z, a, self.slope)
        exact = message(*belief.pre_activation) - z
        if self.rules.floors:
            least = np.full_like(exact[1], FLOOR)
            same_mean = np.stack([belief.pre_activation[0] * (z[1] + FLOOR) - z[0], least])
            return np.where(exact[1] < FLOOR, same_mean, exact)
        return exact


@dataclass(frozen=True)
class Terms:
    """Products of independent activations and weights, given their moments."""

    inputs: tuple[ndarray, ndarray]
    weights: tuple[ndarray, ndarray]

    @property
    def mean(self) -> ndarray:
        """Means of the products."""
        return self.inputs[0] * self.weights[0]

    @property
    def variance(self) -> ndarray:
        """Variances of the products."""
        (a, s_a), (v, s_v) = self.inputs, self.weights
        return s_a * (s_v + v**2) + a**2 * s_v


@dataclass(frozen=True)
class Belief:
    """Moments of both sides of LeakyReLU given the messages to both, and their joint mass."""

    pre_activation: tuple[ndarray, ndarray]
    activation: tuple[ndarray, ndarray]
    log_mass: ndarray


def bent(z: Message, a: Message, slope: float) -> Belief:
    """Return the moments of z and of LeakyReLU(z), by integration on either side of 0."""
    mean, variance = moments(z)
    points, weights = nodes(mean, np.sqrt(variance))
    values = np.maximum(points, slope * points)
    exponent = -((points - mean[:, None]) ** 2) / (2 * variance[:, None])
    exponent = exponent + a[0][:, None] * values - a[1][:, None] * values**2 / 2
    top = exponent.max(1, keepdims=True)
    density = weights * np.exp(exponent - top)
    total = density.sum(1)
    density /= total[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        of_a = (np.log(a[1] / (2 * np.pi)) - a[0] ** 2 / a[1]) / 2
    log_mass = np.log(total) + top[:, 0] - np.log(2 * np.pi * variance) / 2 + of_a
    return Belief(_moments(density, points), _moments(density, values), log_mass)


def product(a: Message, v: Message, term: Message) -> tuple[Message, Message]:
    """Return the messages to an activation and a weight, given the message to their product.

    Given the activation, the weight is Gaussian; activations are integrated out numerically.
    """
    mean, variance = moments(a)
    points, weights = nodes(mean, np.sqrt(variance))
    precision = v[1][:, None] + term[1][:, None] * points**2
    centre = (v[0][:, None] + term[0][:, None] * points) / precision
    exponent = -((points - mean[:, None]) ** 2) / (2 * variance[:, None])
    exponent = exponent + centre**2 * precision / 2 - np.log(precision) / 2
    density = weights * np.exp(exponent - exponent.max(1, keepdims=True))
    density /= density.sum(1, keepdims=True)
    first = (density * centre).sum(1)
    second = (density * (1 / precision + (centre - first[:, None]) ** 2)).sum(1)
    return message(*_moments(density, points)) - a, message(first, second) - v


def message(mean: ndarray, variance: ndarray) -> Message:
    """Return natural parameters."""
    return np.stack([mean / variance, 1 / variance])


def moments(gaussian: Message) -> tuple[ndarray, ndarray]:
    """Return mean and variance; raises `InferenceDiverged` if a precision is not positive."""
    if not (gaussian[1] > 0).all():
        raise InferenceDiverged("a message used as a divisor has no positive precision")
    return gaussian[0] / gaussian[1], 1 / gaussian[1]


def floored(gaussian: Message) -> Message:
    """Return the message with the same mean and at least the minimum precision."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(gaussian[1] > 0, gaussian[0] / gaussian[1], 0.0)
    return np.where(
        gaussian[1] < FLOOR, np.stack([mean * FLOOR, np.full_like(mean, FLOOR)]), gaussian
    )


def _moments(density: ndarray, points: ndarray) -> tuple[ndarray, ndarray]:
    mean = (density * points).sum(1)
    return mean, (density * (points - mean[:, None]) ** 2).sum(1)
