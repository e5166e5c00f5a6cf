r"""Approximations of one logistic unit with random inputs: figure C.2 of paper 001.

The unit is 1 with probability $S(\sum_i w_i X_i + b)$ for independent bits $X_i$, each 1 with
probability 1/2. Its exact probability is an average over all values of the bits.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.special import expit, xlogy

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.units.binary import logistic_bernoulli
from bnnbench.methods.moments.units.piecewise_exponential import piecewise_exponential

WEIGHTS = np.random.default_rng(1).uniform(0, 10, size=5)
"""One draw from U[0, 10], as in the paper, which does not print its weights."""
SAMPLES, TRIALS = 50, 1000
"""Draws of the inputs in one estimate, and number of estimates, as in the paper."""

Probability = Float[np.ndarray, "*shape"]
Rule = Callable[[Moments], torch.Tensor]

APPROXIMATIONS: Mapping[str, Rule] = {
    "AP1": lambda x: x.mean.sigmoid(),
    "PEA": lambda x: piecewise_exponential(x).mean,
    "AP2a": lambda x: logistic_bernoulli(x, "ap2a").mean,
    "AP2b": lambda x: logistic_bernoulli(x, "ap2b").mean,
}
"""Name in the paper → probability that a unit with normal input of these moments is 1."""


@dataclass(frozen=True)
class LogisticUnit:
    """A unit with the first of the weights, for several biases."""

    inputs: int
    biases: Float[np.ndarray, " biases"]

    @property
    def activations(self) -> Float[np.ndarray, "biases values"]:
        """Return the activation for every bias and every value of the inputs."""
        values = np.array(list(itertools.product((0, 1), repeat=self.inputs)))
        return self.biases[:, None] + values @ WEIGHTS[: self.inputs]

    def divergence(self, name: str) -> Float[np.ndarray, " biases"]:
        """Return the divergence of an approximation from the truth, in bits."""
        activations = self.activations
        mean, variance = (torch.from_numpy(a) for a in (activations.mean(1), activations.var(1)))
        # The rules are symmetric: 1 less the probability is the probability at minus the mean.
        ones, zeros = (
            APPROXIMATIONS[name](Moments(sign * mean, variance)).numpy() for sign in (1, -1)
        )
        return self._divergence(ones, zeros)

    def sampled_divergences(self) -> Float[np.ndarray, "trials biases"]:
        """Return the divergences of `TRIALS` averages over `SAMPLES` random inputs, in bits."""
        values = 2**self.inputs
        counts = np.random.default_rng(2).multinomial(SAMPLES, np.full(values, 1 / values), TRIALS)
        ones, zeros = (counts @ expit(sign * self.activations.T) / SAMPLES for sign in (1, -1))
        return self._divergence(ones, zeros)

    def _divergence(self, ones: Probability, zeros: Probability) -> Probability:
        """Return KL(truth || q) for a q with these probabilities of 1 and of 0."""
        true_ones, true_zeros = (expit(sign * self.activations).mean(1) for sign in (1, -1))
        nats = xlogy(true_ones, true_ones / ones) + xlogy(true_zeros, true_zeros / zeros)
        return nats / np.log(2)
