"""Active learning: choose the pool rows to label next."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64, Int
from torch import Tensor

from bnnbench.datasets.base import PoolSource, Scaling
from bnnbench.datasets.errors import PoolTooSmall
from bnnbench.engine.run.guards.validation import check
from bnnbench.engine.run.streams import stream
from bnnbench.methods.base import InferenceDiverged, Posterior
from bnnbench.methods.predictions.predictive import Predictive, RealPredictive
from bnnbench.metrics.uncertainty import entropy, mutual_information
from bnnbench.spelling import did_you_mean

CANDIDATES_AT_ONCE = 2000
"""Pool rows predicted per call, to bound memory; only their scores are stored."""


def total_variance(prediction: RealPredictive) -> Float64[Tensor, " points"]:
    """Return the predictive variance, summed over outputs.

    Under homoscedastic noise it is greatest where the function's variance is, which is also where a
    label is most informative (paper 004, section 5.4).
    """
    return prediction.variance.double().sum(1)


RULES: Mapping[str, Callable[[Any], Tensor] | None] = {
    "random": None,
    "variance": total_variance,
    "entropy": entropy,
    "bald": mutual_information,
}
"""Rule → score; the rows with the greatest scores are acquired. BALD: Houlsby et al. (2011).

BALD measures disagreement among draws: for a single draw it is 0 everywhere, so the choice is
random.
"""


@dataclass(frozen=True)
class Acquisition:
    """In each of `rounds` rounds, the `batch` rows with the greatest scores are acquired.

    Training restarts after each round, so there are rounds + 1 fits.
    """

    rule: str
    rounds: int = 9
    batch: int = 1

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            hint = did_you_mean(self.rule, RULES) or f"known are {', '.join(RULES)}"
            raise ValueError(f"{self.rule!r} is not an acquisition rule; {hint}")
        if self.rounds < 1 or self.batch < 1:
            raise ValueError(
                f"rounds and batch must be at least 1; got {self.rounds}, {self.batch}"
            )


def choices(
    acquisition: Acquisition, source: PoolSource, fold: int, acquired: Sequence[int]
) -> Int[np.ndarray, " candidates"]:
    """Return the rows to choose from. Raises PoolTooSmall if they are fewer than a batch."""
    rows = source.candidates(fold, acquired)
    if len(rows) < acquisition.batch:
        raise PoolTooSmall(
            f"{source.name} has {len(rows)} rows left in its pool, but {acquisition.batch} are to "
            "be acquired: use fewer rounds or smaller batches"
        )
    return rows


def acquire(
    acquisition: Acquisition,
    source: PoolSource,
    rows: Int[np.ndarray, " candidates"],
    scaling: Scaling,
    posterior: Posterior,
    names: tuple[int, int, int],
    device: torch.device,
) -> tuple[int, ...]:
    """Return the rows with the greatest scores among `rows`, or random ones.

    `names` are fold, seed and round, which name the streams; the posterior was fitted under
    `scaling`. Equal scores are taken in the order of `rows`, which is random. Raises
    InferenceDiverged if a score is NaN.
    """
    rule = RULES[acquisition.rule]
    if rule is None:
        order = torch.randperm(len(rows), generator=stream("acquire", source, *names))
    else:
        pieces = []
        for chunk in np.split(rows, range(CANDIDATES_AT_ONCE, len(rows), CANDIDATES_AT_ONCE)):
            rng = stream(
                "candidates", source, *names, device=device
            )  # the same draws for all chunks
            prediction = posterior.predict(source.inputs(chunk, scaling).to(device), rng)
            pieces.append(_scores(rule, prediction, len(chunk)))
        order = torch.cat(pieces).argsort(descending=True, stable=True)
    return tuple(rows[order[: acquisition.batch].numpy()].tolist())


def _scores(
    rule: Callable[[Any], Tensor], prediction: Predictive, rows: int
) -> Float64[Tensor, " points"]:
    if len(prediction) != rows:
        raise ValueError(f"{len(prediction)} predictions for {rows} candidates")
    scores = rule(prediction).detach().cpu()
    if scores.isnan().any():
        raise InferenceDiverged("predicts NaN for rows of the pool")
    check(prediction, rows)
    return scores
