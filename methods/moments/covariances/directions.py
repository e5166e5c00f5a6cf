"""The input directions that a linear map amplifies most."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from bnnbench.methods.fitting.memo import content
from bnnbench.methods.networks.passes import Pass
from bnnbench.methods.networks.torch_layers import RULES

SPARE, ROUNDS = 8, 4
"""Number of extra directions, and number of blocks of the Krylov space."""


MOST_KEPT = 32
STILL = Pass(training=False, noise="off", rngs=None)


class DirectionCache:
    """Cache of the latest maps' directions, for maps that recur with equal weights."""

    def __init__(self) -> None:
        self._directions: dict[Hashable, Tensor] = {}

    def get(self, of: Hashable, compute: Callable[[], Tensor]) -> Tensor:
        """Return the cached value, or `compute()`, which may replace the oldest value."""
        if of not in self._directions:
            while len(self._directions) >= MOST_KEPT:
                del self._directions[next(iter(self._directions))]
            self._directions[of] = compute()
        return self._directions[of]


@dataclass(frozen=True)
class LinearMap:
    """A layer as a linear map of images of units, for one member and without its offset."""

    layer: Any
    weight: Tensor
    inputs: tuple[int, ...]
    """The shape of its input units."""
    cache: DirectionCache

    def apply(self, images: Tensor) -> Tensor:
        """Return the output of the map."""
        return self._with(self.weight, images)

    def squared(self, images: Tensor) -> Tensor:
        """Return the output with squared weights: variances, given those of independent inputs."""
        return self._with(self.weight.square(), images)

    def constant(self, images: Tensor) -> Tensor:
        """Return the same as `apply`, without a gradient for the weights."""
        return self._with(self.weight.detach(), images)

    def adjoint(self, images: Tensor) -> Tensor:
        """Return the output of the transposed map, which is not differentiable."""
        with torch.enable_grad():
            zeros = images.new_zeros(len(images), *self.inputs).requires_grad_()
            return torch.autograd.grad(self.constant(zeros), zeros, images)[0]

    def directions(self, rank: int) -> Float[Tensor, "directions units"]:
        """Return the map's `leading_directions`."""
        of = self.layer, self.inputs, rank, content(self.weight)
        return self.cache.get(of, lambda: leading_directions(self, rank))

    def _with(self, weight: Tensor, images: Tensor) -> Tensor:
        rule = RULES[type(self.layer)]
        return rule(self.layer, [{"weight": weight[None]}], images[None], STILL)[0]


@torch.no_grad()
def leading_directions(linear: LinearMap, rank: int) -> Float[Tensor, "directions units"]:
    """Return at most `rank` directions of input units that span the map's leading ones.

    If the map has no more inputs or outputs than `rank`, they are exact and span everything that
    the map transmits. Otherwise they are right singular vectors of the map from a block Krylov
    space (Musco and Musco, 2015). Its starting point is drawn with a fixed seed, so that the
    directions depend only on the weights.
    """
    inputs, reference = prod(linear.inputs), linear.weight
    outputs = linear.constant(reference.new_zeros(1, *linear.inputs)).shape[1:]
    if inputs <= rank:
        return torch.eye(inputs).to(reference)
    if prod(outputs) <= rank:
        units = torch.eye(prod(outputs)).to(reference)
        return linear.adjoint(units.unflatten(1, outputs)).flatten(1)
    width = min(rank + SPARE, inputs, prod(outputs))
    signs = torch.randint(0, 2, (width, inputs), generator=Generator().manual_seed(0))
    block = (2 * signs - 1).to(reference)
    blocks = []
    for _ in range(ROUNDS):
        block = linear.adjoint(linear.constant(block.unflatten(1, linear.inputs))).flatten(1)
        block = torch.linalg.qr(block.T)[0].T
        blocks.append(block)
    basis = torch.linalg.qr(torch.cat(blocks).T[:, :inputs])[0].T
    images = linear.constant(basis.unflatten(1, linear.inputs)).flatten(1)
    leading = torch.linalg.eigh(images @ images.T)[1][:, -rank:]
    return leading.T @ basis
