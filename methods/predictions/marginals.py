"""Mixtures whose components are no functions of the input: right at each point by itself.

A component has integrated over some weights at every point apart, so that targets of several points
depend on one another given the component. Scores of single points need no more; joint scores of
several points cannot be had.
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
