"""Max-pooling as a sum weighted by the probability that each input is the largest.

These are not the moments of a maximum: four equal inputs of variance s give variance s/4. Source:
the experiments of paper 000's authors; the paper does not describe it. Two inputs are compared
under the noise of the argmax factor.
"""

from math import prod

import torch
from torch import Tensor

from bnnbench.methods.message_passing.factors import weighted_sum
from bnnbench.methods.message_passing.factors.double import moments
from bnnbench.methods.message_passing.gaussian import Gaussian

NOISE_VARIANCE = 0.3
"""The variance of the noise in the comparison of two inputs."""


def forward(z: Gaussian, size: int) -> Gaussian:
    """Return the message to each window of size x size; a ragged border is dropped."""
    terms = windows(z, size)
    return weighted_sum.forward(_weights(terms), terms)


def backward(z: Gaussian, back: Gaussian, size: int) -> Gaussian:
    """Return the message to each input: uniform in the border that pooling dropped."""
    terms = windows(z, size)
    return scattered(weighted_sum.backward(_weights(terms), terms, back), z, size)


def windows(z: Gaussian, size: int) -> list[Gaussian]:
    """Return the size² inputs of all windows, row by row, each as one tensor of windows."""
    height, width = (length // size * size for length in z.shape[-2:])
    if not prod((height, width)):
        raise ValueError(f"needed inputs of at least {size} x {size} to pool; got {tuple(z.shape)}")
    return [
        z[..., row:height:size, column:width:size] for row in range(size) for column in range(size)
    ]


def scattered(messages: list[Gaussian], z: Gaussian, size: int) -> Gaussian:
    """Return the messages of all windows at their inputs' places: the inverse of `windows`."""
    whole = Gaussian.uniform(*z.shape, pattern=messages[0].rho)
    for message, view in zip(messages, windows(whole, size), strict=True):
        view.tau.copy_(message.tau)
        view.rho.copy_(message.rho)
    return whole


def _weights(terms: list[Gaussian]) -> list[Tensor]:
    """Return the probability that each input beats all others, normalised."""
    pairs = [moments(term) for term in terms]
    scores = [torch.zeros_like(mean) for mean, _ in pairs]
    for i, (mean, variance) in enumerate(pairs):
        for j in range(i):
            x = (mean - pairs[j][0]) / (variance + pairs[j][1] + NOISE_VARIANCE).sqrt()
            scores[i] = scores[i] + torch.special.log_ndtr(x)
            scores[j] = scores[j] + torch.special.log_ndtr(-x)
    largest = torch.stack(scores).amax(0)
    weights = [(score - largest).exp() for score in scores]
    whole = weights[0]
    for weight in weights[1:]:
        whole = whole + weight
    return [weight / whole for weight in weights]
