"""The columns of the board for one prediction."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor

from bnnbench.methods.predictions.base import CannotAnswer, require
from bnnbench.methods.predictions.binned import binned
from bnnbench.metrics import METRICS
from bnnbench.metrics.base import mean_score
from bnnbench.metrics.coverage import central_interval_score, interval_coverage
from bnnbench.metrics.thresholds import Loss, score_by_integration
from bnnbench.reports.public_board.names import BETAS, LEVELS, ORDERS
from bnnbench.reports.public_board.scores_of_bins import density_loss, energy_score

METRIC_COLUMNS: Mapping[str, str] = {
    "mae": "mae_median",
    "rmse": "rmse",
    "crps": "crps",
    **{name: name for name in ("crls", "wcrps_left", "wcrps_center", "wcrps_right")},
}
"""Column → our metric. The board takes the median for absolute errors."""
BINS = 500
"""Bins for the scores that are computed by bins."""

Score = Callable[[Any, Tensor], float]


def columns_of(prediction: Any, target: Float64[Tensor, "points 1"]) -> dict[str, float | None]:
    """Return column → score of a prediction in original units; None for what it cannot answer."""
    columns: dict[str, float | None] = {}
    for name, score in _scores().items():
        try:
            columns[name] = score(prediction, target)
        except CannotAnswer:
            columns[name] = None
    return columns | _by_bins(prediction, target)


def _scores() -> dict[str, Score]:
    """Return column → score, without the scores by bins."""
    scores: dict[str, Score] = {name: _metric(metric) for name, metric in METRIC_COLUMNS.items()}
    scores |= {"r2": _r2, "sharpness": _sharpness, "dispersion": _dispersion}
    scores["log_score"] = lambda p, y: -_metric("log_likelihood")(p, y)
    for level in LEVELS:
        scores[f"coverage_{level}"] = _of_level(interval_coverage, level)
        scores[f"interval_score_{level}"] = _of_level(central_interval_score, level)
    for order in ORDERS:
        scores[f"crts_alpha_{order}"] = _tsallis(order)
    return scores


def _metric(name: str) -> Score:
    def score(prediction: Any, target: Tensor) -> float:
        require(prediction, *METRICS[name].needs)
        return mean_score(METRICS[name], METRICS[name].score(prediction, target))

    return score


def _of_level(score: Callable[..., Tensor], percent: int) -> Score:
    return lambda prediction, target: float(score(prediction, target, percent / 100).mean())


def _tsallis(order: float) -> Score:
    r"""Return the integral over thresholds of the Tsallis loss of the event "at most x".

    $$ s(F) = \tfrac1\alpha (F^\alpha + (1 - F)^\alpha - 1)
       - \tfrac1{\alpha - 1} ((1 - F)^{\alpha - 1} - 1) $$

    below the target, and s(1 - F) above it; of order 2 it is the CRPS.
    """

    def loss(mass: Tensor) -> Tensor:
        mass = mass.clamp(0, 1)
        log_rest = torch.log1p(-mass)
        both = (mass**order + torch.expm1(order * log_rest)) / order
        return both - torch.expm1((order - 1) * log_rest) / (order - 1)

    def score(prediction: Any, target: Tensor) -> float:
        require(prediction, "cdf")
        return float(score_by_integration(prediction, target, Loss(loss, loss)).mean())

    return score


def _r2(prediction: Any, target: Tensor) -> float:
    require(prediction, "mean")
    residual = (prediction.mean.double() - target).square().sum()
    return float(1 - residual / (target - target.mean()).square().sum())


def _deviations(prediction: Any) -> Tensor:
    require(prediction, "variance")
    return prediction.variance.double().sqrt()


def _sharpness(prediction: Any, target: Tensor) -> float:
    return float(_deviations(prediction).mean())


def _dispersion(prediction: Any, target: Tensor) -> float:
    return float(_deviations(prediction).std(correction=0))


def _by_bins(prediction: Any, target: Tensor) -> dict[str, float | None]:
    """Return the energy scores and the density loss; None without a cdf."""
    names = ("cde_loss", *(f"energy_score_beta_{beta}" for beta in BETAS))
    try:
        require(prediction, "cdf")
        bins = binned(prediction, BINS)
    except CannotAnswer:
        return dict.fromkeys(names)
    given = bins.masses, bins.edges, torch.as_tensor(target[:, 0]).cpu().numpy()
    scores = (density_loss(*given), *(energy_score(*given, beta) for beta in BETAS))
    return {name: float(each.mean()) for name, each in zip(names, scores, strict=True)}
