r"""Adaptive quadrature of many integrals at once, whose integrands are evaluated together.

The integrals have their own limits and panels; each evaluation takes one abscissa of every
integral. Sources: Gander and Gautschi (2000), "Adaptive quadrature - revisited", for the rules,
which include the ends of a panel, so that no step of an integrand hides there; Piessens et al.
(1983), "QUADPACK", for the estimate of the error and the strategy, to halve the panel of the
largest error.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float64
from torch import Tensor

TOLERANCE = 1e-7
"""Estimated relative error at which an integral is finished; the true one is far smaller."""
LEAST_PANELS, MOST_PANELS = 32, 512
MOST_VALUES = 2**23
"""The number of panels is limited so that those of all integrals together are about this many."""
MOST_STUCK, SMALL = 8, 1e-5
"""After this number of halvings that did not reduce an error, which was below this share of the
panel's integral, rounding is assumed to prevent it."""

ABSCISSAE = (
    1.0, 0.942882415695480, math.sqrt(2 / 3), 0.641853342345781,
    math.sqrt(1 / 5), 0.236383199662150, 0.0,
)  # fmt: skip
FINE = (
    0.0158271919734802, 0.0942738402188500, 0.155071987336585, 0.188821573960182,
    0.199773405226859, 0.224926465333340, 0.242611071901408,
)  # fmt: skip
COARSE = (77 / 1470, 0.0, 432 / 1470, 0.0, 625 / 1470, 0.0, 672 / 1470)
"""The rules on [-1, 1], without the mirrored points: 13 points, and 7 of them."""

Function = Callable[[Tensor, Tensor], Tensor]
Values = Float64[Tensor, "*integrals"]


def integrate(
    function: Function, edges: Float64[Tensor, "edges *integrals"]
) -> tuple[Values, Values]:
    """Return the integrals from the first to the last edge, and estimates of their errors.

    `function` takes one abscissa of every integral and the middle of its panel, which tells the
    sides of an edge apart.
    """
    left, right = edges[:-1], edges[1:]
    pieces = [panel(function, *ends) for ends in zip(left, right, strict=True)]
    value, error = (torch.stack(list(column)) for column in zip(*pieces, strict=True))
    stuck = torch.zeros_like(left[0])
    for _ in range(len(left), _most_panels(left[0].numel())):
        unfinished = (error.sum(0) > TOLERANCE * value.sum(0).abs()) & (stuck < MOST_STUCK)
        if not unfinished.any():
            break
        worst = error.argmax(0, keepdim=True)
        low, high, whole, before = (x.gather(0, worst)[0] for x in (left, right, value, error))
        middle = torch.where(unfinished, (low + high) / 2, high)
        first, second = panel(function, low, middle), panel(function, middle, high)
        stuck += unfinished & (first[1] + second[1] > before) & (before < SMALL * whole.abs())
        left, right = _with(left, middle), _with(right.scatter(0, worst, middle[None]), high)
        value = _with(value.scatter(0, worst, first[0][None]), second[0])
        error = _with(error.scatter(0, worst, first[1][None]), second[1])
    return value.sum(0), error.sum(0)


def panel(function: Function, start: Values, end: Values) -> tuple[Values, Values]:
    """Return the integrals from `start` to `end` by 13 points, and their estimated errors."""
    centre, half = (start + end) / 2, (end - start) / 2
    fine, coarse = torch.zeros_like(centre), torch.zeros_like(centre)
    values = []
    for offset, *weights in _MIRRORED:
        values.append(function(centre + offset * half, centre))
        fine += weights[0] * values[-1]
        coarse += weights[1] * values[-1]
    spread = torch.zeros_like(centre)
    for value, (_, weight, _) in zip(values, _MIRRORED, strict=True):
        spread += weight * (value - fine / 2).abs()
    ratio = torch.where(spread > 0, 200 * (fine - coarse).abs() / spread, 0.0)
    return half * fine, half * spread * ratio.pow(1.5).clamp(max=1)


_HALF = list(zip(ABSCISSAE, FINE, COARSE, strict=True))
_MIRRORED = [*_HALF, *((-offset, *weights) for offset, *weights in _HALF[-2::-1])]


def _most_panels(integrals: int) -> int:
    return min(max(MOST_VALUES // max(1, integrals), LEAST_PANELS), MOST_PANELS)


def _with(rows: Tensor, row: Tensor) -> Tensor:
    return torch.cat([rows, row[None]])
