"""The model in NumPy: networks, their prior and the joint density.

It shares no code with the sampler, so that a calibration reveals an error in the sampler's scale.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Float

Matrices = Sequence[Float[np.ndarray, "_ _"]]
"""A matrix per layer, with the bias in its last column."""

ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "ReLU": lambda a: np.maximum(a, 0.0),
    "Tanh": np.tanh,
}


def weights_from_prior(
    widths: Sequence[int], precision: float, rng: np.random.Generator
) -> list[np.ndarray]:
    """Return one draw of all weights; `widths` has inputs, hidden layers and output."""
    return [
        rng.normal(0.0, precision**-0.5, (outputs, inputs + 1))
        for inputs, outputs in pairwise(widths)
    ]


def function(
    weights: Matrices, inputs: Float[np.ndarray, "points features"], activation: str
) -> Float[np.ndarray, " points"]:
    """Return the output of a network with one output, at each point."""
    return outputs(weights, inputs, activation)[:, 0]


def outputs(
    weights: Matrices, inputs: Float[np.ndarray, "points features"], activation: str
) -> Float[np.ndarray, "points outputs"]:
    """Return the network's outputs at each point."""
    z = inputs
    for layer, matrix in enumerate(weights):
        with_bias = np.hstack([z, np.ones((len(z), 1))])
        a = with_bias @ matrix.T / math.sqrt(with_bias.shape[1])
        z = a if layer == len(weights) - 1 else ACTIVATIONS[activation](a)
    return z
