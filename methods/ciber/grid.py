"""CIBER with learning rate and weight decay chosen on held-out rows, from a grid.

Each setting is a descent without the held-out rows. The chosen one maximises the log likelihood of
these rows under the mixture of the iterates' own Gaussians, whatever the box. It is not repeated on
all rows. Source: seed paper 002, appendix C.2, which does not state its grid.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar

import torch

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.base import InferenceDiverged, Posterior, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.ciber.early_stops import last_iterates
from bnnbench.methods.ciber.fit import Fit
from bnnbench.methods.ciber.method import Ciber
from bnnbench.methods.fitting import progress
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.validation_search import set_aside
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.schedules import Plateau
from bnnbench.methods.tuning.space import Space


@dataclass(frozen=True)
class _Tried:
    """The iterates of a setting, and their mean log likelihood of the held-out rows."""

    log_likelihood: float
    iterates: NetworkPosterior


@dataclass(frozen=True)
class CiberByGrid(Ciber):
    """Collapsed inference with the iterates of the best of several descents.

    The grid replaces learning rate and weight decay of `training`. The rows held out for the choice
    are those of a `Plateau`, or else a share `validation_share`; they also choose the epsilon.
    """

    card: ClassVar[Card] = Card(
        "trajectories",
        problems=("mlp regression", "linear regression", "cnn regression"),
        restarts="a grid of descents, most of them short",
    )
    of_predictions: ClassVar = (*Ciber.of_predictions, "epsilons")

    learning_rates: tuple[float, ...] = (1e-2, 5e-2)
    """Learning rates of the grid."""
    weight_decays: tuple[float, ...] = (1e-4, 1e-2)
    """Weight decays of the grid."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.grid:
            raise ValueError(
                "CiberByGrid needs at least one learning rate and one weight decay; got "
                f"{self.learning_rates} and {self.weight_decays}"
            )

    @property
    def grid(self) -> list[Descent]:
        """The descents; raises ValueError for invalid settings."""
        return [
            replace(self.training, learning_rate=rate, weight_decay=decay)
            for rate, decay in product(self.learning_rates, self.weight_decays)
        ]

    @property
    def space(self) -> Space:
        """An empty space: the grid is the search."""
        return Space()

    @property
    def side_by_side(self) -> bool:
        """True: descents that stop early are side by side, too."""
        return True

    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem; raises `Unsupported` for classes."""
        if isinstance(problems[0].likelihood, Categorical):
            raise Unsupported("needed a regression for its likelihood; got classes: use Ciber")
        self._require(problems[0])
        descending, rows = self._held_out(problems, rngs)
        states = [rng.get_state() for rng in rngs]
        best: list[_Tried | None] = [None] * len(problems)
        for number, descent in enumerate(self.grid):
            for rng, state in zip(rngs, states, strict=True):
                rng.set_state(state)
            with progress.part(number, len(self.grid)):
                fits = last_iterates(descending, rngs, descent, self.samples, rows)
            for m, iterates in enumerate(fits):
                best[m] = _better(best[m], _tried(iterates, rows[m], descent))
        return [
            self._posterior(Fit(each.iterates, problem, held_out))
            if each
            else InferenceDiverged(f"each of {len(self.grid)} descents diverged")
            for each, problem, held_out in zip(best, problems, rows, strict=True)
        ]

    def _held_out(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> tuple[Sequence[Problem], list[Split]]:
        """Return the problems to descend on, and each problem's held-out rows."""
        schedule = self.training.schedule
        if isinstance(schedule, Plateau):
            share = schedule.validation_share  # the descent will hold out the same rows itself
            return problems, [
                set_aside(p, share, rng.clone_state())[1]
                for p, rng in zip(problems, rngs, strict=True)
            ]
        parts = [
            set_aside(p, self.validation_share, rng) for p, rng in zip(problems, rngs, strict=True)
        ]
        return [rest for rest, _ in parts], [rows for _, rows in parts]


@torch.no_grad()
def _tried(iterates: NetworkPosterior, rows: Split, descent: Descent) -> _Tried | None:
    """Return a setting's score with its iterates; None if it diverged."""
    prediction = iterates.predict(rows.inputs, torch.Generator(rows.inputs.device))
    assert isinstance(prediction, GaussianPredictive)
    log_likelihood = float(prediction.log_prob(rows.targets).mean())
    if not (math.isfinite(log_likelihood) and bool(iterates.weights.isfinite().all())):
        return None
    details = {
        "samples": float(len(iterates.weights)),
        "chosen_learning_rate": descent.learning_rate,
        "chosen_weight_decay": descent.weight_decay,
        "chosen_log_likelihood": log_likelihood,
    }
    details = iterates.diagnostics | details
    return _Tried(log_likelihood, replace(iterates, diagnostics=details))


def _better(one: _Tried | None, other: _Tried | None) -> _Tried | None:
    """Return the setting with the higher likelihood; of equal ones, the first."""
    if one is None or other is None:
        return one or other
    return other if other.log_likelihood > one.log_likelihood else one
