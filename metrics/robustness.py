"""Scores under perturbed inputs: confidence of errors, and vanishing gradients."""

from jaxtyping import Float, Float64, Int
from torch import Tensor

from bnnbench.methods.predictions.base import HasProbabilities
from bnnbench.metrics.scores import accuracy


def log_odds(
    prediction: HasProbabilities, target: Int[Tensor, " points"]
) -> Float64[Tensor, " points"]:
    r"""Return $\log(\max_y q(y) / q(y^*))$, in nats: 0 if the target is the most probable class.

    Source: paper 001, figure 5, "confidence odds".
    """
    return prediction.mixture_log_probs.amax(1) - prediction.log_prob(target)


def mean_log_odds_of_errors(
    prediction: HasProbabilities, target: Int[Tensor, " points"]
) -> Float64[Tensor, ""]:
    """Return the mean log odds over wrongly classified points; NaN if there are none."""
    return _of_errors(prediction, target).mean()


def median_log_odds_of_errors(
    prediction: HasProbabilities, target: Int[Tensor, " points"]
) -> Float64[Tensor, ""]:
    """Return the median log odds over errors, finite despite a few errors of probability 0."""
    of_errors = _of_errors(prediction, target)
    return of_errors.quantile(0.5) if len(of_errors) else of_errors.mean()


def _of_errors(prediction: HasProbabilities, target: Tensor) -> Float64[Tensor, " errors"]:
    return log_odds(prediction, target)[accuracy(prediction, target) != 1]


def zero_gradient(
    gradient: Float[Tensor, "points *features"], target: Tensor
) -> Float64[Tensor, " points"]:
    """Return 1 if the loss's gradient is 0 in every input, so that an attack cannot even begin.

    In floating point the gradient of a certain prediction is 0; this is not robustness.
    """
    return (gradient.flatten(1) == 0).all(1).double()
