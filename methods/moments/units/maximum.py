r"""Moments of maxima: of pairs, of many by a tree of pairs, and of windows of images.

Source: paper 001, eqs. 33, 35, 40 and 41.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.kernels.selection import Backend, kernels_for
from bnnbench.methods.moments.units import standard
from bnnbench.methods.moments.units.rectified import Variance


def maximum(
    x: Moments,
    y: Moments,
    covariance: Float[Tensor, "*#shape"] | None = None,
    variance: Variance = "exact",
    backend: Backend = "fused",
) -> Moments:
    r"""Return the moments of max(X, Y) for jointly normal X and Y, independent by default.

    With $s^2 = v_1 + v_2 - 2c$ and $a = (\mu_1 - \mu_2)/s$:

    $$ \mu' = \mu_2 + s(a\Phi(a) + \phi(a)), \quad
       v' = v_1\Phi(a) + v_2\Phi(-a) + s^2(R(a) - \Phi(a)), $$

    which is $v_1 R(a) + v_2 R(-a)$ for independent inputs. "paper", only for these, is
    $v_1 S(a/t) + v_2 S(-a/t)$. If s = 0, the greater mean and its variance are returned.
    """
    if variance not in ("exact", "paper"):
        raise ValueError(f'needed variance "exact" or "paper"; got {variance!r}')
    if variance == "paper" and covariance is not None:
        raise ValueError('needed variance="exact" with a covariance; got "paper"')
    if x.variance is None and y.variance is None:
        return Moments(torch.maximum(x.mean, y.mean))
    first, second = (torch.zeros_like(m.mean) if m.variance is None else m.variance for m in (x, y))
    if covariance is not None:
        return _of_correlated(x.mean, first, y.mean, second, covariance)
    both = (x.mean, first, y.mean, second)
    return Moments(*_Maximum.apply(*both, variance == "exact", backend))  # pyright: ignore[reportGeneralTypeIssues]


def _of_correlated(
    x_mean: Tensor, x_variance: Tensor, y_mean: Tensor, y_variance: Tensor, covariance: Tensor
) -> Moments:
    difference = x_mean - y_mean
    spread = (x_variance + y_variance - 2 * covariance).clamp(min=0)
    a = standard.standardised(difference, spread)
    mean = torch.where(difference > 0, x_mean, y_mean)
    mean = mean + standard.mean_excess(difference, spread)
    variance = x_variance * standard.variance_ratio(a) + y_variance * standard.variance_ratio(-a)
    # Phi(a) - R(a) = Phi(-a) - R(-a); the side below 0 is not a difference of numbers near 1.
    below = -a.abs()
    shared = 2 * covariance * (standard.normal_cdf(below) - standard.variance_ratio(below))
    return Moments(mean, (variance + shared).clamp(min=0))


class _Maximum(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x_mean: Tensor,
        x_variance: Tensor,
        y_mean: Tensor,
        y_variance: Tensor,
        exact: bool,
        backend: Backend,
    ) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(x_mean, x_variance, y_mean, y_variance)
        ctx.kernels, ctx.exact = kernels_for(backend, x_mean), exact
        return ctx.kernels.maximum(x_mean, x_variance, y_mean, y_variance, exact)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *to: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        gradients = ctx.kernels.maximum_gradient(*ctx.saved_tensors, *to, ctx.exact)
        return *gradients, None, None


def tree_maximum(x: Moments, variance: Variance = "exact", backend: Backend = "fused") -> Moments:
    """Return the moments of the maximum over the last axis, by a balanced tree of pairs.

    Neighbours (0, 1), (2, 3), ... are joined, then neighbouring results; a last one without a
    neighbour moves up unchanged. Intermediate maxima are treated as independent and normal,
    so another order gives other moments.
    """
    return _tree(_along(x, -1), variance, backend)


def max_pool(
    x: Moments, size: int, variance: Variance = "exact", backend: Backend = "fused"
) -> Moments:
    """Return the moments of the maxima over windows of side `size` of `... height width`.

    A tree joins each row of a window, then another the rows: for 2 x 2, max(max(x00, x01),
    max(x10, x11)). A ragged border is dropped. The memory layout of images is preserved.
    """
    last = x.mean.dim() > 2 and x.mean.stride(-3) == 1  # channels last; moved there below
    windows = _of_both(x, lambda t: _windows(t.movedim(-3, -1) if last else t, size, last))
    axis = -2 if last else -1
    rows = [_tree(_along(row, axis), variance, backend) for row in _along(windows, axis - 2)]
    pooled = _tree(rows, variance, backend)
    return _of_both(pooled, lambda t: t.movedim(-1, -3)) if last else pooled


def _windows(t: Tensor, size: int, last: bool) -> Tensor:
    """Return whole windows as `... height row width column`, before channels if they are last."""
    height, width = (-3, -2) if last else (-2, -1)
    rows, columns = t.shape[height] // size, t.shape[width] // size
    if t.shape[height] % size or t.shape[width] % size:
        t = t.narrow(height, 0, rows * size).narrow(width, 0, columns * size)
    return t.unflatten(width, (columns, size)).unflatten(height - 1, (rows, size))


def _tree(units: Sequence[Moments], variance: Variance, backend: Backend) -> Moments:
    while len(units) > 1:
        pairs = zip(units[::2], units[1::2], strict=False)
        last = units[-1:] if len(units) % 2 else []
        units = [*(maximum(*pair, None, variance, backend) for pair in pairs), *last]
    return units[0]


def _along(x: Moments, axis: int) -> list[Moments]:
    """Return the units along an axis as a list; their gradients are joined in one copy."""
    means = x.mean.unbind(axis)
    if x.variance is None:
        return [Moments(mean) for mean in means]
    return [Moments(m, v) for m, v in zip(means, x.variance.unbind(axis), strict=True)]


def _of_both(x: Moments, function: Callable[[Tensor], Tensor]) -> Moments:
    return Moments(function(x.mean), None if x.variance is None else function(x.variance))
