"""Any method on the last layer of a trained network, whose other layers are fixed features.

The features, and a regression's targets, are standardised by the training rows, and the method sees
a network of one linear layer that starts at the trained one. Its cost does not depend on the layers
before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Method, Posterior, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.given import Given
from bnnbench.methods.post_hoc.around import Around
from bnnbench.methods.post_hoc.last_features import LastFeatures
from bnnbench.methods.predictions.base import Predictive
from bnnbench.methods.tuning.fits import fit_all


@dataclass(frozen=True)
class LastLayerPosterior:
    """A posterior of the last layer, given the features."""

    features: LastFeatures
    of_layer: Posterior

    @property
    def diagnostics(self) -> Mapping[str, float]:
        """Diagnostics of the last layer's fit."""
        return self.of_layer.diagnostics

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the predictive distribution of each point."""
        prediction = self.of_layer.predict(self.features(inputs), rng)
        return self.features.in_original_units(prediction)


@dataclass(frozen=True)
class OnLastLayer(Around):
    """A method on the last layer of the problem's trained network."""

    card: ClassVar[Card] = Card(
        around="only the last layer of a trained network is inferred; the others are fixed",
        gradients=False,
        trained=True,
    )

    method: Method = field(default_factory=Given)
    """The method, for a network of one linear layer."""

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem; raises `Unsupported` without a trained network."""
        tried = [_features(problem) for problem in problems]
        sound = {n: one for n, one in enumerate(tried) if isinstance(one, LastFeatures)}
        inner = [_of_layer(one, problems[n]) for n, one in sound.items()]
        fitted = fit_all([self.method] * len(inner), inner, [rngs[n] for n in sound]).results
        outcomes = dict(zip(sound, fitted, strict=True))
        return [_posterior(one, outcomes.get(n)) for n, one in enumerate(tried)]


def _features(problem: Problem) -> LastFeatures | InferenceDiverged:
    try:
        return LastFeatures.of(problem)
    except InferenceDiverged as failure:
        return failure


def _posterior(
    features: LastFeatures | InferenceDiverged, of_layer: Posterior | InferenceDiverged | None
) -> Posterior | InferenceDiverged:
    if isinstance(features, InferenceDiverged):
        return features
    assert of_layer is not None
    if isinstance(of_layer, InferenceDiverged):
        return of_layer
    return LastLayerPosterior(features, of_layer)


def _of_layer(features: LastFeatures, problem: Problem) -> Problem:
    """Return the problem of the last layer; raises `Unsupported` for a stated prior."""
    if problem.prior is not None:
        raise Unsupported(
            "needed a problem without a stated prior, since the inputs of the last layer are "
            "standardised: state the prior of the method instead"
        )
    return Problem(
        features.of_split(problem.train),
        problem.likelihood,
        (features.layer,),
        start=features.start_of_layer,
        calibration=problem.calibration and features.of_split(problem.calibration),
        target_zero=problem.target_zero,
    )
