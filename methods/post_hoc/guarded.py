"""A treatment of a trained network that is used only if it predicts unseen rows better.

Few calibration rows may prefer a setting that spoils a sound network; the network itself is
therefore always among the candidates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Split
from bnnbench.methods.base import (
    InferenceDiverged,
    Method,
    Posterior,
    Problem,
    Unsupported,
    differentiable,
)
from bnnbench.methods.card import Card
from bnnbench.methods.given import Given
from bnnbench.methods.post_hoc.around import Around
from bnnbench.methods.predictions.base import HasLogProb, Predictive
from bnnbench.methods.tuning.fits import fit_all
from bnnbench.methods.tuning.rows import checksum, stream


@dataclass(frozen=True)
class GuardedPosterior:
    """The better of a treatment and the network as it was, by the calibration rows."""

    chosen: Posterior
    untreated: bool
    gain: float
    """Mean log likelihood of a calibration row, treated minus untreated, in nats.

    If the treatment's settings were chosen by the same rows, it favours the treatment.
    """

    @property
    def diagnostics(self) -> Mapping[str, float]:
        """Diagnostics of the chosen fit, and the choice."""
        choice = {"untreated": float(self.untreated), "gain_on_calibration_rows": self.gain}
        return dict(self.chosen.diagnostics) | choice

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


@dataclass(frozen=True)
class Guarded(Around):
    """A treatment of a trained network, or the network itself if that predicts better.

    A treatment that diverges leaves the network as it is.
    """

    card: ClassVar[Card] = Card(
        around="the trained network replaces it if that predicts unseen rows better",
        trained=True,
    )

    method: Method = field(default_factory=Given)
    """The treatment and its settings."""

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the better posterior; raises `Unsupported` without a trained
        network or calibration rows."""
        untreated = Given().fit_many(problems, rngs)
        if any(problem.calibration is None for problem in problems):
            raise Unsupported("Guarded needed rows to choose by: give Problem(calibration=...)")
        treated = fit_all([self.method] * len(problems), problems, rngs).results
        return [
            _better(before, after, problem)
            for before, after, problem in zip(untreated, treated, problems, strict=True)
        ]


def _better(
    before: Posterior | InferenceDiverged, after: Posterior | InferenceDiverged, problem: Problem
) -> Posterior | InferenceDiverged:
    assert problem.calibration is not None
    if isinstance(before, InferenceDiverged):
        return before
    if isinstance(after, InferenceDiverged):
        return GuardedPosterior(before, True, float("-inf"))
    draws = checksum(problem.calibration)
    gain = _score(after, problem.calibration, draws) - _score(before, problem.calibration, draws)
    return GuardedPosterior(after if gain > 0 else before, not gain > 0, gain)


def _score(posterior: Posterior, rows: Split, name: str) -> float:
    """Return the mean log likelihood of rows; raises `Unsupported` if there is none."""
    prediction: Any = posterior.predict(
        rows.inputs, stream("guarded", name, device=rows.inputs.device)
    )
    if not isinstance(prediction, HasLogProb):
        raise Unsupported(
            f"Guarded chooses by log likelihood, which {type(prediction).__name__} lacks"
        )
    return float(prediction.log_prob(rows.targets).double().mean())
