"""Scores of single predictions: accuracy, likelihood, distance."""

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from bnnbench.methods.predictions.base import (
    HasLogProb,
    HasMean,
    HasMoments,
    HasProbabilities,
)
from bnnbench.methods.predictions.dirichlet import smoothed
from bnnbench.methods.predictions.predictive import GaussianPredictive


def accuracy(
    prediction: HasProbabilities, target: Int[Tensor, " points"]
) -> Float64[Tensor, " points"]:
    """Return 1 if the most probable class (the lowest of equals) is the target, else 0."""
    top, predicted = prediction.mixture_log_probs.max(1)
    return (predicted == target).double().where(~top.isnan(), torch.nan)


def top_k_accuracy(
    prediction: HasProbabilities, target: Int[Tensor, " points"], k: int = 5
) -> Float64[Tensor, " points"]:
    """Return 1 if the target is among the `k` most probable classes, lowest of equals first."""
    log_probs = prediction.mixture_log_probs
    target_log_prob = prediction.log_prob(target)[:, None]
    lower = torch.arange(log_probs.shape[1], device=log_probs.device) < target[:, None]
    ahead = ((log_probs > target_log_prob) | ((log_probs == target_log_prob) & lower)).sum(1)
    return (ahead < k).double().where(~log_probs.isnan().any(1), torch.nan)


def log_likelihood(prediction: HasLogProb, target: Tensor) -> Float64[Tensor, " points"]:
    r"""Return the log predictive probability or density of each target, in nats.

    $$ \log \tfrac1S \sum_s p(y_n \mid x_n, \theta_s) $$

    A probability of exactly 0 gives -inf. A density is per unit of the target: the log density of
    original targets is that of standardised ones less the log of their standard deviation.
    """
    return prediction.log_prob(target)


def smoothed_log_likelihood(
    prediction: HasProbabilities, target: Int[Tensor, " points"]
) -> Float64[Tensor, " points"]:
    """Return the log of each target's probability after mixing with uniform ones, in nats.

    The uniform distribution has the weight δ = 1e-4, so that the score is at least
    log(1e-4 / classes). According to its text, paper 003 smooths probabilities only in training;
    its printed test scores of confident models far from the data are of this kind.
    """
    return smoothed(prediction.mixture_log_probs.exp()).gather(1, target[:, None]).squeeze(1).log()


def log_loss(prediction: HasLogProb, target: Int[Tensor, " points"]) -> Float64[Tensor, " points"]:
    """Return the negative log predictive probability of each target, in nats.

    Source: Good (1952), "Rational Decisions".
    """
    return -prediction.log_prob(target)


def brier_score(
    prediction: HasProbabilities, target: Int[Tensor, " points"]
) -> Float64[Tensor, " points"]:
    r"""Return $\sum_k (p_{nk} - [k = y_n])^2$, between 0 and 2.

    Source: Brier (1950), "Verification of forecasts expressed in terms of probability".
    """
    error = prediction.mixture_log_probs.exp()
    error.scatter_add_(1, target.long()[:, None], error.new_full((len(error), 1), -1.0))
    return error.square_().sum(1)


def root_mean_squared_error(
    prediction: HasMean, target: Float[Tensor, "points outputs"]
) -> Float64[Tensor, ""]:
    """Return the square root of the squared error's mean over points and outputs."""
    return (prediction.mean.double() - target.double()).square().mean().sqrt()


def absolute_error(
    prediction: HasMean, target: Float[Tensor, "points outputs"]
) -> Float64[Tensor, " points"]:
    """Return the distance between predictive mean and target, averaged over outputs."""
    return (prediction.mean.double() - target.double()).abs().mean(1)


def gaussian_log_likelihood(
    prediction: HasMoments, target: Float[Tensor, "points outputs"]
) -> Float64[Tensor, " points"]:
    """Return the log density of each target under a Gaussian with the same mean and variance."""
    matched = GaussianPredictive(prediction.mean[None], prediction.variance[None])
    return matched.log_prob(target)
