"""The compiled filter, with the functions of reference.py."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from methods.pbp import kernel, multinomial
from methods.pbp.state import State


def filter_rows(
    state: State,
    inputs: Float[Tensor, "points columns"],
    targets: Float[Tensor, "points outputs"] | Int[Tensor, " points"],
    order: Int[Tensor, " rows"],
) -> float:
    """Take the rows in this order, one update each; return the sum of -log Z.

    Inputs are those of `with_bias`. Changes `state`.
    """
    work, padding = _workspace(state)
    counts = np.zeros(3, dtype=np.int64)
    shared = (inputs.numpy(), targets.numpy(), order.numpy(), work, padding, counts)
    weights = (np.array(state.layout.widths), state.mean.numpy(), state.variance.numpy())
    if targets.dim() == 2:
        loss = kernel.filter_gaussian(*weights, state.noise.numpy(), state.learns_noise, *shared)
    else:
        loss = kernel.filter_categorical(*weights, *multinomial.quadrature(), *shared)
    _count(state, counts)
    return loss


def refine(state: State) -> None:
    """Refine the prior factor of every weight, layer by layer and unit by unit, bias last.

    Changes `state`.
    """
    counts = np.zeros(3, dtype=np.int64)
    values = (
        state.mean, state.variance, state.factor_precision, state.factor_shape, state.factor_rate
    )  # fmt: skip
    arrays = (value.numpy() for value in (*values, state.prior))
    kernel.refine(np.array(state.layout.widths), *arrays, counts)
    _count(state, counts)


def _workspace(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Return the kernel's buffers, and 1 for every hidden unit and 0 for its padding.

    Memory of torch starts at a multiple of 64 bytes, so that no eight values cross a line of
    cache.
    """
    layout = state.layout
    layers = max(1, layout.hidden)
    rows = kernel.SHARED_ROWS + kernel.LAYER_ROWS * layers
    work = torch.zeros(rows, layout.columns, dtype=torch.float64)
    padding = torch.zeros(layers, layout.columns, dtype=torch.float64)
    for layer, units in enumerate(layout.widths[1:-1]):
        padding[layer, :units] = 1
    return work.numpy(), padding.numpy()


def _count(state: State, counts: np.ndarray) -> None:
    state.rejected_updates += int(counts[kernel.REJECTED_UPDATES])
    state.skipped_refinements += int(counts[kernel.SKIPPED_REFINEMENTS])
    state.kept_noise_updates += int(counts[kernel.KEPT_NOISE_UPDATES])
