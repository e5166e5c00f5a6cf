"""Mixtures whose components are not functions of the input, but valid at each single point.

A component integrates over some weights separately at every point, so that targets of different
points depend on one another given the component. This suffices to score single points; joint scores
of several points are not available.
"""

from typing import Any

from torch import Tensor

from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive

REASON = "its components integrate over weights at every point apart, so it has no joint law"


class MarginalCategorical(CategoricalPredictive):
    """An equal-weight mixture of categoricals at every point."""

    def draw_log_probs(self, target: Any) -> Tensor:
        """Raise `CannotAnswer`: targets are dependent given a component."""
        raise CannotAnswer(REASON)


class MarginalGaussian(GaussianPredictive):
    """An equal-weight mixture of Gaussians at every point."""

    def draw_log_probs(self, target: Any) -> Tensor:
        """Raise `CannotAnswer`: targets are dependent given a component."""
        raise CannotAnswer(REASON)
