r"""The factor of a class label under a softmax. Source: paper 000, appendix B.3.

With the other outputs at their probit-adjusted means $t_j$, the likelihood of one output z is
$\sigma(\pm(z - c_k))$, $c_k = \log \sum_{j \neq k} e^{t_j}$, up to a constant. Its moments under
N(z) come from Gauss-Legendre nodes at fixed positions relative to z and to $c_k$.
"""

from math import log, pi

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from bnnbench.methods.message_passing.factors.double import moments, narrowed
from bnnbench.methods.message_passing.gaussian import Gaussian

NODES, WEIGHTS = np.polynomial.legendre.leggauss(10)
AROUND_MEAN = tuple(range(-10, 11, 2))
"""Edges of the panels, in standard deviations of z from its mean."""
AROUND_STEP = (-32, -16, -8, -4, -2, 0, 2, 4, 8, 16, 32)
"""Further edges around c, where the likelihood bends."""
LEAST_LOG_MASS = log(1e-12)
"""Below this log mass, z and the label contradict each other and the message is uniform."""


def backward(z: Gaussian, labels: Int[Tensor, "*points"]) -> Gaussian:
    """Return the messages to the outputs of all classes, in the last dimension of z.

    The likelihood is log-concave, so no precision is negative.
    """
    mean, variance = moments(z)
    adjusted = _adjusted(mean, variance)
    others = _log_sum_of_others(adjusted)
    index = labels.long().unsqueeze(-1)
    is_true = torch.zeros_like(mean).scatter(-1, index, 1.0).bool()
    sign = torch.where(is_true, 1.0, -1.0)
    std = variance.sqrt()
    step = (others - mean) / std  # where the likelihood bends, in standard deviations
    mass, first, second = _standard_moments(step, sign, std)
    shift = first / mass
    shrunk = second / mass - shift.square()
    rho = ((1 - shrunk) / shrunk).clamp_min(0.0) / variance
    tau = shift / (shrunk * std) + mean * rho
    constant = torch.where(is_true, 0.0, adjusted.gather(-1, index) - others)
    usable = mass.log() + constant >= LEAST_LOG_MASS
    return narrowed(Gaussian(torch.where(usable, tau, 0.0), torch.where(usable, rho, 0.0)), z)


def log_probabilities(
    mean: Float[Tensor, "*points classes"], variance: Float[Tensor, "*points classes"]
) -> Float[Tensor, "*points classes"]:
    r"""Return the log softmax of $\mu / \sqrt{1 + \pi s/8}$, the probit approximation.

    The paper omits the square root; its authors' experiments include it.
    """
    return _adjusted(mean, variance).log_softmax(-1)


def _adjusted(mean: Tensor, variance: Tensor) -> Tensor:
    return mean / (1 + pi / 8 * variance).sqrt()


def _log_sum_of_others(scores: Tensor) -> Tensor:
    """Return log Σ_{j≠k} exp(score_j) for each class k, summed in class order."""
    classes = scores.shape[-1]
    itself = torch.eye(classes, dtype=torch.bool, device=scores.device)
    others = scores.unsqueeze(-2).expand(*scores.shape[:-1], classes, classes)
    others = others.masked_fill(itself, -torch.inf)
    largest = others.amax(-1)
    total = torch.zeros_like(scores)
    for j in range(classes):
        total = total + (others[..., j] - largest).exp()
    return largest + total.log()


def _standard_moments(step: Tensor, sign: Tensor, std: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the integrals of x^k N(x; 0, 1) σ(± std (x - step)), k = 0, 1, 2."""
    widest = AROUND_MEAN[-1]
    edges = [torch.full_like(step, float(edge)) for edge in AROUND_MEAN]
    edges += [(step + offset / std).clamp(-widest, widest) for offset in AROUND_STEP]
    edges = torch.stack(edges).sort(0).values
    centres, halves = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    mass = first = second = torch.zeros_like(step)
    for centre, half in zip(centres, halves, strict=True):
        for node, weight in zip(NODES.tolist(), WEIGHTS.tolist(), strict=True):
            x = centre + half * node
            density = (-0.5 * x.square()).exp() / (1 + (-sign * std * (x - step)).exp())
            part = weight * half * density
            mass, first = mass + part, first + part * x
            second = second + part * x.square()
    scale = 1 / (2 * pi) ** 0.5
    return mass * scale, first * scale, second * scale
