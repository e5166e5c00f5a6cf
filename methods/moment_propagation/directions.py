"""The directions of its inputs that a linear map amplifies most."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import torch
from jaxtyping import Float
from torch import Generator, Tensor

SPARE, ROUNDS = 8, 4
"""Directions beyond those asked for, and blocks of the Krylov space."""


@dataclass(frozen=True)
class LinearMap:
    """A linear map of images of units, for one member and without its offset."""

    apply: Callable[[Tensor], Tensor]
    squared: Callable[[Tensor], Tensor]
    """The same with squared weights: the variances of independent inputs."""
    constant: Callable[[Tensor], Tensor]
    """The same as `apply`, without a gradient to the weights."""
    inputs: tuple[int, ...]
    """The shape of its input units."""

    def adjoint(self, images: Tensor) -> Tensor:
        """Return what the transposed map gives, which is not differentiable."""
        with torch.enable_grad():
            zeros = images.new_zeros(len(images), *self.inputs).requires_grad_()
            return torch.autograd.grad(self.constant(zeros), zeros, images)[0]


@torch.no_grad()
def leading_directions(
    linear: LinearMap, rank: int, like: Tensor
) -> Float[Tensor, "directions units"]:
    """Return at most `rank` directions of input units that span the map's leading ones.

    They are exact, and span all that the map passes on, where it has no more inputs or outputs
    than `rank`. Elsewhere they are right singular vectors of the map, out of a block Krylov
    space (Musco and Musco, 2015); its starting point is drawn from a fixed seed, so that the
    directions are a function of the weights alone.
    """
    inputs = prod(linear.inputs)
    outputs = linear.constant(like.new_zeros(1, *linear.inputs)).shape[1:]
    if inputs <= rank:
        return torch.eye(inputs).to(like)
    if prod(outputs) <= rank:
        units = torch.eye(prod(outputs)).to(like)
        return linear.adjoint(units.unflatten(1, outputs)).flatten(1)
    width = min(rank + SPARE, inputs, prod(outputs))
    signs = torch.randint(0, 2, (width, inputs), generator=Generator().manual_seed(0))
    block = (2 * signs - 1).to(like)
    blocks = []
    for _ in range(ROUNDS):
        block = linear.adjoint(linear.constant(block.unflatten(1, linear.inputs))).flatten(1)
        block = torch.linalg.qr(block.T)[0].T
        blocks.append(block)
    basis = torch.linalg.qr(torch.cat(blocks).T[:, :inputs])[0].T
    images = linear.constant(basis.unflatten(1, linear.inputs)).flatten(1)
    leading = torch.linalg.eigh(images @ images.T)[1][:, -rank:]
    return leading.T @ basis
