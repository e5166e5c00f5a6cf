"""Samples of some weights beside a box of the others: a posterior ready to predict."""

import math
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import require_classifier
from bnnbench.methods.ciber.classes import ClassWeights, log_probabilities
from bnnbench.methods.ciber.collapse import NO_FLOOR, Collapse, collapsed
from bnnbench.methods.ciber.samples import Samples
from bnnbench.methods.predictions.marginals import MarginalCategorical
from bnnbench.methods.predictions.predictive import Predictive


@dataclass(frozen=True)
class CollapsedPosterior:
    """Samples, exact integrals over the chosen box, and the floor of a regression."""

    samples: Samples
    collapse: Collapse
    classes: ClassWeights
    ratio: float
    """Half the base of the triangular noise, in the standard deviations of the network's noise."""
    floor: tuple[float, float, float, float] = NO_FLOOR
    diagnostics: dict[str, float] = field(default_factory=dict)

    @torch.no_grad()
    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the mixture over samples; the stream is not used."""
        if isinstance(self.samples.likelihood, Categorical):
            return MarginalCategorical(log_probabilities(self.samples, self.classes, inputs))
        return collapsed(self.samples, self.collapse, inputs, self.ratio).with_floor(*self.floor)

    def log_probs(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float[Tensor, "points classes"]:
        """Return the log of the mean probabilities, with gradient; the stream is not used."""
        require_classifier(self.samples.likelihood)
        of_samples = log_probabilities(self.samples, self.classes, inputs).double()
        return of_samples.logsumexp(0) - math.log(len(of_samples))
