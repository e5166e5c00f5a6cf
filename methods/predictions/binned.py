"""Predictive distributions of one real target as masses of bins."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64

from bnnbench.methods.predictions.base import CannotAnswer, HasQuantiles, require
from bnnbench.methods.predictions.inversion import quantile

TAIL = 1e-6
"""Mass beyond the edges on either side, which the bins at the ends also have."""


@dataclass(frozen=True)
class Bins:
    """Masses of bins for each row, with the row's own edges; a bin without width is a point."""

    masses: Float64[np.ndarray, "rows bins"]
    edges: Float64[np.ndarray, "rows edges"]


def binned(prediction: Any, count: int) -> Bins:
    """Return the masses of `count` bins of equal width, or of those between stated quantiles.

    The edges are the quantiles at 1e-6 and 1 - 1e-6, or the lowest and the highest that are stated;
    the mass beyond them belongs to the bins at the ends. Raises `CannotAnswer` for several outputs,
    and for a prediction with neither a cdf nor two quantiles.
    """
    if isinstance(prediction, HasQuantiles):
        return _between_quantiles(prediction)
    require(prediction, "cdf")
    low, high = quantile(prediction, TAIL), quantile(prediction, 1 - TAIL)
    if low.shape[1] != 1:
        raise CannotAnswer(f"bins are of one output; got {low.shape[1]}")
    shares = torch.linspace(0, 1, count + 1, dtype=torch.float64).tolist()
    edges = [low.lerp(high, share) for share in shares]
    below = torch.cat([prediction.cdf(edge).double() for edge in edges], 1)
    return _with_tails(below, torch.cat(edges, 1))


def _between_quantiles(prediction: HasQuantiles) -> Bins:
    if prediction.values.shape[1] != 1 or len(prediction.levels) < 2:
        raise CannotAnswer("bins need two or more quantiles of one output")
    edges = prediction.values[:, 0].double()
    return _with_tails(prediction.levels.double().expand_as(edges), edges)


def _with_tails(below: torch.Tensor, edges: torch.Tensor) -> Bins:
    """Return the bins between edges, given the mass below each; the ends have the tails."""
    cumulative = below.clone()
    cumulative[:, 0], cumulative[:, -1] = 0.0, 1.0
    masses = cumulative.diff(dim=1).clamp(min=0)
    return Bins(masses.cpu().numpy(), edges.cpu().numpy())
