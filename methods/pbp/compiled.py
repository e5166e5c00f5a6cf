"""The compiled filter, with the signature of reference.py."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from bnnbench.methods.pbp import multinomial
from bnnbench.methods.pbp.kernels import filtering as kernel
from bnnbench.methods.pbp.kernels.layers import LAYER_ROWS, SHARED_ROWS
from bnnbench.methods.pbp.state import State


class Filter:
    """Updates of one posterior by its training rows; inputs come from `with_bias`."""

    def __init__(
        self,
        state: State,
        inputs: Float[Tensor, "points columns"],
        targets: Float[Tensor, "points outputs"] | Int[Tensor, " points"],
        covariances: bool = False,
    ) -> None:
        widths, counts = np.array(state.layout.widths), state.counts.numpy()
        weights = (widths, state.mean.numpy(), state.variance.numpy())
        if targets.dim() == 2:
            self._kernel = kernel.filter_gaussian
            self._before = (*weights, state.noise.numpy(), state.learns_noise)
        else:
            self._kernel = kernel.filter_categorical
            self._before = (*weights, *multinomial.quadrature())
        self._before += (inputs.numpy(), targets.numpy())
        # units of a single hidden layer have no covariances
        joint = _joint(state) if covariances and state.layout.hidden > 1 else None
        self._after = (*_workspace(state), joint, counts)
        factors = (state.factor_precision, state.factor_shape, state.factor_rate, state.prior)
        self._refined = (*weights, *(factor.numpy() for factor in factors), counts)

    def take(self, order: Int[Tensor, " rows"]) -> float:
        """Process the rows in this order, one update each; return the sum of -log Z."""
        return self._kernel(*self._before, order.numpy(), *self._after)

    def refine(self) -> None:
        """Refine the prior factor of every weight, layer by layer and unit by unit, bias last."""
        kernel.refine(*self._refined)


def _workspace(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Return the kernel's buffers, and two rows per hidden layer: ones at its units, at its bias.

    Torch's memory starts at a multiple of 64 bytes, so that no group of eight values crosses a
    cache line.
    """
    layout = state.layout
    layers = max(1, layout.hidden)
    rows = SHARED_ROWS + LAYER_ROWS * layers
    work = torch.zeros(rows, layout.columns, dtype=torch.float64)
    padding = torch.zeros(layers, 2, layout.columns, dtype=torch.float64)
    for layer, units in enumerate(layout.widths[1:-1]):
        padding[layer, 0, :units] = 1
        padding[layer, 1, units] = 1
    return work.numpy(), padding.flatten(0, 1).numpy()


def _joint(state: State) -> tuple[np.ndarray, ...]:
    """Return buffers for the matrices of kernels/correlated.py."""
    layers, columns = state.layout.hidden, state.layout.columns
    rows = max(columns, state.layout.widths[-1])
    shapes = [(layers, rows, columns)] * 3 + [(layers, 2, columns)] + [(columns, columns)] * 3
    return tuple(torch.zeros(shape, dtype=torch.float64).numpy() for shape in shapes)
