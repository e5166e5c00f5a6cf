r"""The coupled update of a group: each example's force allows for the moves of the others.

In one layer and output, new forces h move the means of the pre-activations by
$C (h - h_{old})$, $C = X \operatorname{diag}(s) X^T + s_b 1 1^T$ over the rows of the group.
The forces h0, computed as if examples were independent, are replaced by the solution of
$(I + \operatorname{diag}(g)\, C_{off}) (h - h_{old}) = h_0 - h_{old}$, where C_off is C without
its diagonal. In a first layer with Gaussian targets this is the exact joint posterior. The update
leaves fixed points unchanged, and groups of one row too.
"""

from dataclasses import dataclass
from types import ModuleType

import torch
from torch import Tensor

from bnnbench.methods.message_passing.maps.base import Inputs, LinearMap, Values, Weights


@dataclass(frozen=True)
class Coupling:
    """The moves of a group's pre-activations caused by the forces of its rows."""

    map: LinearMap
    x: Inputs
    variance: Weights
    bias_variance: Tensor | None
    """`members outputs`; 0 if there is no bias. None if kernels read precisions."""
    by_weights: Values
    """Variance of each pre-activation due to this layer's weights."""
    by_inputs: Values | None
    """Variance of each pre-activation due to the layers below; None: inputs are observed."""
    bias_precision: Tensor | None = None
    """`members 1 outputs`; None if there is no bias."""

    def moves(self, u: Values, total: Tensor) -> tuple[Values, Tensor]:
        """Return X s X' u, and the move due to the bias; `total` is the sum of u per example."""
        assert self.bias_variance is not None
        moved = self.moves_by_weights(u)
        return moved, (self.bias_variance * total.sum(1))[:, None]

    def moves_by_weights(self, u: Values) -> Values:
        """Return X s X' u."""
        weights = self.map.to_weights(u, self.x).mul_(self.variance)
        return self.map.forward(self.x, weights)


def couple(
    coupling: Coupling,
    g: Values,
    h: Values,
    old: Values | None,
    iterations: int,
    kernels: ModuleType,
) -> None:
    """Replace forces computed as if examples were independent by the coupled update's, in place.

    The method is conjugate gradients: with q = √g, (I + q C_off q) u = -q C_off r is
    solved for every output; the forces are h + q u, r = h - old. Where g = 0, a row sends what it
    would send without coupling.
    """
    room = [coupling.map.values_room(g, 1) for _ in range(7)]
    diagonal, scale, scaled, residual, direction, image, u = room
    assert coupling.bias_variance is not None
    bias = coupling.bias_variance[:, None]
    variances = coupling.by_weights, coupling.by_inputs
    total = kernels.begin(g, h, old, *variances, bias, diagonal, scale, scaled)
    moves = coupling.moves(scaled, total)
    start = kernels.fill_residual(*moves, diagonal, scale, scaled, residual, direction)
    square, total = (part.sum(1, keepdim=True) for part in start)
    u.zero_()
    for iteration in range(iterations):
        moves = coupling.moves(scaled, total)
        curvature = kernels.fill_image(direction, *moves, diagonal, scale, image)
        length = _quotient(square, curvature.sum(1, keepdim=True))
        new = kernels.step(length, direction, image, u, residual).sum(1, keepdim=True)
        if iteration + 1 < iterations:
            total = kernels.turn(residual, _quotient(new, square), scale, direction, scaled)
        square = new
    kernels.finish(g, u, h)


def couple_fused(
    coupling: Coupling,
    g: Values,
    h: Values,
    old: Values | None,
    stored: Values | None,
    damping: float,
    iterations: int,
    kernels: ModuleType,
) -> None:
    """Do the same as `couple`, in kernels that sum the previous kernel's output themselves.

    `stored`, if given, is filled with forces `damping` of the way from the old ones to the new. The
    coupling needs precisions of biases.
    """
    room = [coupling.map.values_room(g, 1) for _ in range(7)]
    diagonal, scale, scaled, residual, direction, image, u = room
    bias = coupling.bias_precision
    variances = coupling.by_weights, coupling.by_inputs
    total = kernels.coupled_begin(g, h, old, *variances, bias, diagonal, scale, scaled, u)
    moved = coupling.moves_by_weights(scaled)
    square, total = kernels.coupled_residual(
        moved, total, bias, diagonal, scale, scaled, residual, direction
    )
    for iteration in range(iterations):
        moved = coupling.moves_by_weights(scaled)
        curvature = kernels.coupled_image(direction, moved, total, bias, diagonal, scale, image)
        before = square
        square = kernels.coupled_step(direction, image, before, curvature, u, residual)
        if iteration + 1 < iterations:
            total = kernels.coupled_turn(residual, square, before, scale, direction, scaled)
    kernels.coupled_finish(g, u, old, h, stored, damping)


def _quotient(above: Tensor, below: Tensor) -> Tensor:
    """Return above/below, or 0 where below is not positive."""
    return torch.where(below > 0, above / below, 0.0)
