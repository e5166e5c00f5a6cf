"""The posterior at the settings that held-out rows prefer."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, differentiable
from bnnbench.methods.predictions.base import Predictive
from bnnbench.methods.tuning.noise import WithNoise
from bnnbench.methods.tuning.search import Search
from bnnbench.methods.tuning.temperature import TemperedPosterior

ATTEMPTS = 4
"""Maximum number of settings to try if the preferred ones diverge on all rows."""


@dataclass(frozen=True)
class TunedPosterior:
    """The posterior of the chosen trial, and the other trials' for curves in reports."""

    chosen: Posterior
    search: Search
    trial: int
    rung: int
    skipped: int
    """Number of better settings that diverged when fitted to all rows."""
    trials: Mapping[int, Posterior]
    """Every trial that did not diverge, fitted to all rows at its own best length."""

    @property
    def diagnostics(self) -> Mapping[str, float]:
        """Diagnostics of the chosen fit, with the choice."""
        settings = self.search.settings[self.trial].items()
        numbers = {f"chosen_{path}": value for path, value in settings if _is_number(value)}
        length = self.search.lengths[self.rung]
        chosen = {"chosen_trial": float(self.trial), "skipped_settings": float(self.skipped)}
        if length is not None:
            chosen["chosen_length"] = float(length)
        return dict(self.chosen.diagnostics) | chosen | {n: float(v) for n, v in numbers.items()}

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the predictive distribution of each point."""
        return self.chosen.predict(inputs, rng)

    def log_probs(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float[Tensor, "points classes"]:
        """Return the log of the class probabilities, with gradient."""
        return differentiable(self.chosen).log_probs(inputs, rng)


def choose(search: Search) -> tuple[int, int]:
    """Return the trial, and the index in `lengths`, that held-out rows prefer.

    Raises `InferenceDiverged` if all trials failed.
    """
    if not (ranking := search.ranking):
        raise InferenceDiverged(f"each of {len(search.settings)} trials diverged on held-in rows")
    best = search.best_lengths[ranking[0]]
    assert best is not None
    return ranking[0], best


def as_chosen(
    search: Search, refits: Mapping[int, Posterior | InferenceDiverged]
) -> Posterior | InferenceDiverged:
    """Return the posterior of the best trial whose fit to all rows did not diverge."""
    try:
        choose(search)
    except InferenceDiverged as failure:
        return failure
    ranking, best = search.ranking, search.best_lengths
    posteriors = {
        trial: _corrected(fit, search, (trial, best[trial]))
        for trial, fit in refits.items()
        if not isinstance(fit, InferenceDiverged)
    }
    for skipped, trial in enumerate(ranking[:ATTEMPTS]):
        rung = best[trial]
        if trial in posteriors and rung is not None:
            return TunedPosterior(posteriors[trial], search, trial, rung, skipped, posteriors)
    return InferenceDiverged(
        f"the {min(ATTEMPTS, len(ranking))} best of {len(search.settings)} trials diverged when "
        "fitted to all rows"
    )


def _corrected(posterior: Posterior, search: Search, cell: tuple[int, int | None]) -> Posterior:
    """Return the posterior, with the noise or temperature of held-out rows if there is one."""
    variance, temperature = float(search.noise_variance[cell]), float(search.temperature[cell])
    if not math.isnan(variance):
        return WithNoise(posterior, variance)
    return posterior if math.isnan(temperature) else TemperedPosterior(posterior, temperature)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
