"""The continuous ranked logarithmic score."""

import math
from typing import Any

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from bnnbench.methods.predictions.base import CannotAnswer, HasCdf, HasSamples
from bnnbench.methods.predictions.tails import has_all_digits, log_mass_above, log_mass_below
from bnnbench.metrics.support import is_possible
from bnnbench.metrics.thresholds import Loss, Substitution, score_of_samples


def _lacking(mass: Tensor) -> Tensor:
    """Return minus the log of what a mass lacks to 1."""
    return -torch.log1p(-mass)


LOGARITHMS = Loss(_lacking, _lacking)


def continuous_ranked_logarithmic_score(
    prediction: HasCdf, target: Float[Tensor, "points outputs"]
) -> Float64[Tensor, " points"]:
    r"""Return the log loss of all events "at most x", averaged over outputs, in target units.

    $$ -\int_{-\infty}^y \log(1 - F(x)) dx - \int_y^\infty \log F(x) dx $$

    It is infinite beyond all samples or all mass, and without a finite mean. Raises `CannotAnswer`
    for a target so far out that 1 - F is rounded to 0. Source: Tödter and Ahrens (2012),
    "Generalization of the ignorance score: continuous ranked version and its decomposition".
    """
    if isinstance(prediction, HasSamples):
        return score_of_samples(prediction.samples, target, LOGARITHMS)
    target = target.double()
    law = Substitution(prediction, target, LOGARITHMS)
    excluded = _is_excluded(prediction, target, law.scale)
    turn = torch.where(excluded, 0.0, law.turn)

    def integrand(t: Tensor, middle: Tensor) -> Tensor:
        x, is_below = law.at(t), middle < turn
        logs = torch.where(is_below, log_mass_above(prediction, x), log_mass_below(prediction, x))
        # At a target that is an end of the support, the last logarithm is infinite.
        return -torch.where(logs.isneginf(), 0.0, logs) * t.cosh()

    start, end = (-law.below.end).minimum(turn), law.above.end.maximum(turn)
    beyond = torch.where(excluded, math.inf, 0.0)
    return law.score(integrand, start, turn, end, beyond)


def _is_excluded(prediction: Any, target: Tensor, scale: Tensor) -> Bool[Tensor, "points outputs"]:
    """Return whether no mass is at the target or beyond it, on either side.

    Raises `CannotAnswer` if that is the rounding of a cdf.
    """
    near = 1e-9 * scale + 4e-16 * target.abs()
    above, below = (
        log_mass_above(prediction, target - near), log_mass_below(prediction, target + near)
    )  # fmt: skip
    excluded = above.isneginf() | below.isneginf()
    if not has_all_digits(prediction) and (excluded & is_possible(prediction, target)).any():
        raise CannotAnswer(
            "its cdf is rounded to 0 or 1 at a target that is possible, where this score needs "
            "the logarithm of the mass that is left"
        )
    return excluded
