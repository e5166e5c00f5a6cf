"""Several fits from different starts, with predictions weighted by held-out rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import torch
from jaxtyping import Float, Float64
from torch import Generator, Tensor

from bnnbench.methods.base import InferenceDiverged, Method, Posterior, PriorUse, Problem
from bnnbench.methods.fitting.randomness import spawn
from bnnbench.methods.fitting.settings import require_between, require_choice, require_count
from bnnbench.methods.fitting.validation_search import set_aside
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.predictions.base import HasLogProb
from bnnbench.methods.predictions.predictive import Predictive, mixture
from bnnbench.methods.tuning.fits import fit_all
from bnnbench.methods.tuning.space import Space

SLOTS = 60
"""Number of equal-weight components that represent weights: they are rounded to a sixtieth."""

Weights = Literal["equal", "held_out"]


@dataclass(frozen=True)
class RestartsPosterior:
    """A mixture of posteriors, each of which occupies some of the slots."""

    members: tuple[Posterior, ...]
    log_likelihoods: Float64[Tensor, " members"]
    """Each member's log likelihood of all held-out rows together."""
    slots: tuple[int, ...]

    @property
    def diagnostics(self) -> Mapping[str, float]:
        """The share of the heaviest member, and the spread of the held-out log likelihoods."""
        likelihoods = self.log_likelihoods
        return {
            "heaviest_share": max(self.slots) / sum(self.slots),
            "log_likelihood_spread": float(likelihoods.max() - likelihoods.min()),
        }

    def predict(self, inputs: Float[Tensor, "points *features"], rng: Generator) -> Predictive:
        """Return the mixture."""
        rngs = spawn(rng, len(self.members))
        components = []
        for member, slots, stream in zip(self.members, self.slots, rngs, strict=True):
            if slots:
                components += [member.predict(inputs, stream)] * slots
        return mixture(components)


@dataclass(frozen=True)
class Restarts:
    """`size` fits to some of the rows, mixed with equal weights or by the likelihood of the others.

    Fits are not repeated on all rows: other rows would change the start, so that a weight would no
    longer apply.
    """

    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space()
    of_predictions: ClassVar[tuple[str, ...]] = ("weights",)

    weights: Weights = "held_out"
    """`held_out`: proportional to the likelihood of all held-out rows together."""
    size: int = 3
    share: float = 0.2
    """The share of held-out rows."""
    member: Method = field(default_factory=MessagePassing)

    def __post_init__(self) -> None:
        require_choice(self, "weights", ("equal", "held_out"))
        require_count(self, "size")
        require_between(self, 0.0, 1.0, "share")

    def fit(self, problem: Problem, rng: Generator) -> RestartsPosterior:
        """Return the mixture; raises `InferenceDiverged` if all fits diverge."""
        part, validation = set_aside(problem, self.share, rng)
        streams = spawn(rng, self.size)
        fitted = fit_all([self.member] * self.size, [part] * self.size, streams).results
        sound = tuple(fit for fit in fitted if not isinstance(fit, InferenceDiverged))
        if not sound:
            raise InferenceDiverged(f"all {self.size} restarts diverged: {fitted[0]}")
        scores = []
        for fit, stream in zip(sound, spawn(rng, len(sound)), strict=True):
            prediction = fit.predict(validation.inputs, stream)
            assert isinstance(prediction, HasLogProb)
            scores.append(prediction.log_prob(validation.targets).double().sum())
        return self._mixed(sound, torch.stack(scores).cpu())

    def from_fit(self, posterior: Posterior) -> RestartsPosterior:
        """Return the same fits mixed with this method's weights."""
        assert isinstance(posterior, RestartsPosterior)
        return self._mixed(posterior.members, posterior.log_likelihoods)

    def _mixed(
        self, members: tuple[Posterior, ...], scores: Float64[Tensor, " members"]
    ) -> RestartsPosterior:
        likelihood = scores if self.weights == "held_out" else torch.zeros_like(scores)
        return RestartsPosterior(members, scores, shared_out(likelihood.softmax(0), SLOTS))


def shared_out(shares: Float64[Tensor, " members"], slots: int) -> tuple[int, ...]:
    """Return integers that sum to `slots` in proportion to shares, by largest remainders."""
    exact = shares * slots
    counts = exact.floor().long()
    rest = (exact - counts).argsort(descending=True)[: slots - int(counts.sum())]
    counts[rest] += 1
    return tuple(counts.tolist())
