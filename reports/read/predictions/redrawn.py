"""Scores that are not means over points, on bootstrap draws of the test points."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from bnnbench.metrics import METRICS

DRAWS = 400


@dataclass(frozen=True)
class Redrawn:
    """A run's score, and its value on each draw of test points; all runs share the draws."""

    score: float
    draws: Float[ndarray, " draws"]
    points: int

    def __len__(self) -> int:
        """Return the number of stored values."""
        return len(self.draws)


def redrawn_ece(prediction: Any, targets: Any) -> Redrawn:
    """Return the expected calibration error, with its bins of equal width."""
    bins = 15  # metrics.calibration.BINS, which imports torch; other bins give another score
    top = prediction.mixture_log_probs.double().exp().amax(1).numpy()
    hits = METRICS["accuracy"].score(prediction, targets).numpy()
    index = np.searchsorted(np.arange(bins + 1) / bins, top) - 1
    gaps = np.zeros((len(top), bins))
    gaps[np.arange(len(top)), np.clip(index, 0, bins - 1)] = hits - top
    drawn = np.abs(weights(len(top)) @ gaps.astype(np.float32)).sum(1) / len(top)
    return Redrawn(float(np.abs(gaps.sum(0)).sum() / len(top)), drawn, len(top))


REDRAWN: Mapping[str, Callable[[Any, Any], Redrawn]] = {"ece": redrawn_ece}
"""Metric → the function that computes its score on the draws."""


@functools.lru_cache(maxsize=4)
def weights(points: int) -> Float[ndarray, "draws points"]:
    """Return how many times each draw contains each point; the draws are the same for all runs."""
    counts = np.random.default_rng(0).multinomial(points, np.full(points, 1 / points), DRAWS)
    return counts.astype(np.float32)
