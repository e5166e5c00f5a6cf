r"""Microcanonical Langevin dynamics: positions w, and momenta u on the unit sphere.

$$ dw = u\,dt, \qquad du = \frac{(I - u u^T) g}{P - 1}\,dt + \text{noise}, \qquad
   g = \nabla \log p(w). $$

A step of size ε is refresh(ε/2), B(bε), A(ε/2), B((1 - 2b)ε), A(ε/2), B(bε), refresh(ε/2) with
two gradients: McLachlan's minimal-norm integrator. No proposal is rejected; the energy error
ΔE = Σ ΔK - Δ log p tells the bias.

Sources: Robnik, De Luca, Silverstein and Seljak (2023), "Microcanonical Hamiltonian Monte Carlo";
Robnik and Seljak (2023), "Microcanonical Langevin Monte Carlo".
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

MINIMAL_NORM = 0.1931833275037836
"""b, of McLachlan (1995), "On the numerical integration of ordinary differential equations"."""
TINY = 1e-30
"""Minimum norm of a gradient: without one, momenta do not turn."""

Vectors = Float[Tensor, "members parameters"]
Numbers = Float[Tensor, " members"]
"""Numbers of each chain, in float64."""


def kick(momenta: Vectors, gradients: Vectors, size: Numbers) -> tuple[Vectors, Numbers]:
    r"""Return the momenta after B(h), and the change of kinetic energy.

    With $n = |g|$, $c = g/n$, $a = u \cdot c$, $\delta = h n / (P - 1)$ and $z = e^{-\delta}$,
    $$ u' \propto 2 z u + (1 - z)(1 + z + a (1 - z)) c, $$
    $$ \Delta K = (P - 1) (\delta - \log 2 + \log(1 + a + (1 - a) z^2)). $$
    """
    dimensions = momenta.shape[1] - 1
    norms = _dot(gradients, gradients).sqrt().clamp_min(TINY)
    a = _dot(momenta, gradients) / norms
    delta = size * norms / dimensions
    z = (-delta).exp()
    along = (1 - z) * (1 + z + a * (1 - z)) / norms
    turned = momenta * _column(2 * z, momenta) + gradients * _column(along, momenta)
    change = delta - math.log(2) + (1 + a + (1 - a) * z.square()).log()
    return normalised(turned), dimensions * change


def refresh(momenta: Vectors, noise: Vectors, size: Numbers, length: Numbers) -> Vectors:
    r"""Return $(u + \nu \xi) / |\cdot|$ with $\nu^2 = (e^{2h/L} - 1) / P$: partly new momenta."""
    spread = ((2 * size / length).expm1() / momenta.shape[1]).sqrt()
    return normalised(momenta + noise * _column(spread, momenta))


def integrate(
    states: Vectors,
    momenta: Vectors,
    gradients: Vectors,
    size: Numbers,
    differentiate: Callable[[], Vectors],
) -> tuple[Vectors, Numbers]:
    """Move the states in place by one step without refreshments.

    Return the momenta, and the change of kinetic energy. `gradients` belong to the states, and
    `differentiate` returns those of the states as they are.
    """
    half = _column(size / 2, states)
    momenta, first = kick(momenta, gradients, MINIMAL_NORM * size)
    states.addcmul_(momenta, half)
    momenta, second = kick(momenta, differentiate(), (1 - 2 * MINIMAL_NORM) * size)
    states.addcmul_(momenta, half)
    momenta, third = kick(momenta, differentiate(), MINIMAL_NORM * size)
    return momenta, first + second + third


def _dot(one: Vectors, other: Vectors) -> Numbers:
    return (one * other).sum(1, dtype=torch.float64)


def normalised(vectors: Vectors) -> Vectors:
    """Return the vectors divided by their norms."""
    return vectors * _column(_dot(vectors, vectors).rsqrt(), vectors)


def _column(numbers: Numbers, pattern: Vectors) -> Float[Tensor, "members 1"]:
    return numbers.to(pattern)[:, None]
