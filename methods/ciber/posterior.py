"""Samples of some weights and a box for the others: a posterior ready to predict."""

import math
from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import require_classifier
from bnnbench.methods.ciber.classes import ClassWeights, log_probabilities
from bnnbench.methods.ciber.collapse import NO_FLOOR, Collapse, collapsed
from bnnbench.methods.ciber.fit import Fit
from bnnbench.methods.ciber.predictive import AffinePredictive, RectifiedPredictive
from bnnbench.methods.ciber.samples import Samples
from bnnbench.methods.predictions.marginals import MarginalCategorical
from bnnbench.methods.predictions.predictive import Predictive

Prediction = Literal["box", "no_box", "iterates"]
"""Prediction of a regression: integrals over the box; the same for a box of width 0 around every
sample; or the samples' own Gaussians, without a floor. For classes: the first or the last.
"""


@dataclass(frozen=True)
class CollapsedPosterior:
    """Samples, exact integrals over the chosen box, and the floor of a regression."""

    samples: Samples
    collapse: Collapse
    classes: ClassWeights
    ratio: float
    """Half the base of the triangular noise, in standard deviations of the network's noise."""
    floor: tuple[float, float, float, float] = NO_FLOOR
    diagnostics: dict[str, float] = field(default_factory=dict)
    prediction: Prediction = "box"
    fit: Fit | None = None
    """The fit, which other predictions may share; "iterates" needs it."""

    @torch.no_grad()
    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the mixture over samples; the stream is not used."""
        if self.fit and self.prediction == "iterates":
            return self.fit.iterates.predict(inputs, rng)
        if isinstance(self.samples.likelihood, Categorical):
            return MarginalCategorical(log_probabilities(self.samples, self.classes, inputs))
        return self.without_floor(inputs).with_floor(*self.floor)

    def without_floor(
        self, inputs: Float[Tensor, "points *features"]
    ) -> AffinePredictive | RectifiedPredictive:
        """Return the prediction of a regression by its box, without a floor."""
        collapse = self.collapse if self.prediction == "box" else None
        return collapsed(self.samples, collapse, inputs, self.ratio)

    def log_probs(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float[Tensor, "points classes"]:
        """Return the log of the mean probabilities, with gradients; the stream is not used."""
        if self.fit and self.prediction == "iterates":
            return self.fit.iterates.log_probs(inputs, rng)
        require_classifier(self.samples.likelihood)
        of_samples = log_probabilities(self.samples, self.classes, inputs).double()
        return of_samples.logsumexp(0) - math.log(len(of_samples))
