"""Moments of the outputs, with correlated or independent units within a layer."""

from types import ModuleType

from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.pbp import correlated, independent
from bnnbench.methods.pbp.state import State


def units_with(covariances: bool) -> ModuleType:
    """Return the module for correlated or for independent units."""
    return correlated if covariances else independent


def outputs(
    state: State, inputs: Float[Tensor, "points features"], covariances: bool
) -> tuple[Float[Tensor, "points outputs"], Float[Tensor, "points outputs"]]:
    """Return mean and variance of every output, without noise."""
    means, variances = (state.layout.layers(values) for values in (state.mean, state.variance))
    return units_with(covariances).forward(means, variances, inputs)
