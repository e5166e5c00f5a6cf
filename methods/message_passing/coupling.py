r"""The coupled update of a group: every example's force sees the moves that the others cause.

In one layer and output, new forces h move the means of the pre-activations by
$C (h - h_{old})$, $C = X \operatorname{diag}(s) X^T + s_b 1 1^T$ over the rows of the group.
The forces of independent examples h0 are replaced by the solution of
$(I + \operatorname{diag}(g)\, C_{off}) (h - h_{old}) = h_0 - h_{old}$, $C_{off}$ being C without
its diagonal: of a first layer with Gaussian targets, the exact joint posterior. It leaves the
fixed points where they are, and a group of one row as it is.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from methods.message_passing.maps import Inputs, LinearMap, Values, Weights


@dataclass(frozen=True)
class Coupling:
    """How the rows of a group move each other's pre-activations."""

    map: LinearMap
    x: Inputs
    variance: Weights
    bias_variance: Tensor | None
    """`members outputs`."""
    diagonal: Values
    """Variance of each pre-activation due to this layer's weights and bias."""
    scale: Values | None
    """Standard deviation of each pre-activation over that due to this layer alone; None: 1."""

    def moves(self, u: Values) -> Values:
        """Return C_off u."""
        scaled = u if self.scale is None else self.scale * u
        shift = self.variance * self.map.to_weights(scaled, self.x)
        moved = self.map.forward(self.x, shift) - self.diagonal * scaled
        if self.bias_variance is not None:
            total = self.map.per_example(scaled).sum(1)
            moved = moved + self.map.spread((self.bias_variance * total)[:, None])
        return moved if self.scale is None else self.scale * moved


def coupled_forces(
    coupling: Coupling, g: Values, independent: Values, old: Values, iterations: int
) -> Values:
    """Return the forces of the coupled update after `iterations` of conjugate gradients.

    With q = √g, (I + q C_off q) u = -q C_off r is solved for every output; the forces are
    old + r + q u, r = independent - old. Where g = 0 a row sends what it would send alone.
    """
    q = g.clamp_min(1e-12).sqrt()
    step = independent - old
    residual = -q * coupling.moves(step)
    u = torch.zeros_like(residual)
    direction, square = residual, _dot(coupling.map, residual, residual)
    for _ in range(iterations):
        image = direction + q * coupling.moves(q * direction)
        curvature = _dot(coupling.map, direction, image)
        length = torch.where(curvature > 0, square / curvature, 0.0)
        length = coupling.map.spread(length[:, None])
        u = u + length * direction
        residual = residual - length * image
        new = _dot(coupling.map, residual, residual)
        ratio = torch.where(square > 0, new / square, 0.0)
        direction = residual + coupling.map.spread(ratio[:, None]) * direction
        square = new
    return torch.where(g > 0, old + step + q * u, independent)


def _dot(map: LinearMap, a: Values, b: Values) -> Tensor:
    """Return the product of each output's rows, `members outputs`."""
    return map.per_example(a * b).sum(1)
