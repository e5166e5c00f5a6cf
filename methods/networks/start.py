"""A trained network's numbers, from which methods start."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Start:
    """The weights and running statistics of a trained network, as flat vectors.

    `bnnbench.methods.networks.modules.trained` makes them from state dictionaries and files.
    """

    weights: Float[Tensor, " parameters"]
    buffers: Float[Tensor, " buffers"]
    noise_variance: float | None = None
    """A regression's noise variance in squared target units; None if unknown."""
