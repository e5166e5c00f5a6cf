r"""Scores against the targets' data distribution, if it is known.

The expectation over targets replaces the test targets, so that these scores have no test-set noise.
Regression is in standardised target units.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64
from scipy.stats import rankdata
from torch import Tensor

from bnnbench.methods.predictions.base import CannotAnswer, Predictive, require
from bnnbench.methods.predictions.predictive import CategoricalPredictive, in_chunks
from bnnbench.metrics.functions.values import function_values

Points = Float64[Tensor, " points"]
NODES = 64
"""Nodes of Gauss-Hermite quadrature over a real target."""


@dataclass(frozen=True)
class Law:
    """The data distribution at the test points: function, noise, and the posterior's deviations."""

    truth: Float64[Tensor, "points outputs"]
    """The expected target, or the class probabilities."""
    noise_std: float | None
    """Standard deviation of the target around `truth`; None for classes."""
    exact_std: Points
    """Standard deviations of the exact posterior of `truth`; zeros if no posterior is known."""


def excess_risk(prediction: Any, law: Law) -> Points:
    r"""Return $E_{y \sim p}[\log p(y) - \log q(y)] = KL[p \| q]$, in nats.

    p is the data distribution, q the prediction.
    """
    if law.noise_std is None:
        log_q = _probabilities(prediction).log()
        return (torch.xlogy(law.truth, law.truth) - law.truth * log_q).nansum(1)
    require(prediction, "log_prob")
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    entropy = 0.5 * math.log(2 * math.pi * math.e * law.noise_std**2)
    total = torch.zeros(len(law.truth), dtype=torch.float64)
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        target = law.truth + law.noise_std * float(node)
        total -= float(weight) * prediction.log_prob(target.to(torch.float64)).double()
    return total - entropy


def claimed_variance(prediction: Predictive, law: Law) -> Points:
    r"""Return the epistemic variance that a prediction claims, without the noise.

    $$ \operatorname{Var}_q f(x_n) \quad\text{or, of classes,}\quad
       \sum_k \operatorname{Var}_s p_{snk} $$

    Raises `CannotAnswer` for a prediction that does not separate noise and function.
    """
    if law.noise_std is None:
        draws = _log_draws(prediction)
        return in_chunks(lambda x: x.double().exp().var(0, correction=0).sum(1), draws)
    return function_values(prediction, law.noise_std).std.square()


def earned_variance(prediction: Predictive, law: Law) -> Points:
    r"""Return the squared error of the predicted mean or probabilities: the variance to claim.

    $$ (\mu_n - f_n)^2 \quad\text{or, of classes,}\quad \sum_k (p_{nk} - f_{nk})^2 $$
    """
    if law.noise_std is None:
        return (_probabilities(prediction) - law.truth).square().sum(1)
    return (function_values(prediction, law.noise_std).mean - law.truth[:, 0]).square()


def epistemic_rank(prediction: Predictive, law: Law) -> Float64[Tensor, ""]:
    r"""Return Spearman's correlation over points between claimed and exact standard deviations.

    $$ \operatorname{cor}_n(\operatorname{rank} s_{q,n}, \operatorname{rank} s_{p,n}) $$

    Raises `CannotAnswer` if all points have the same claimed uncertainty.
    """
    claimed = claimed_variance(prediction, law)
    if float(claimed.max()) <= float(claimed.min()):
        raise CannotAnswer("needed epistemic variances that differ between points; all are equal")
    ranks = np.stack([rankdata(claimed.numpy()), rankdata(law.exact_std.numpy())])
    return torch.tensor(np.corrcoef(ranks)[0, 1], dtype=torch.float64)


def _probabilities(prediction: Any) -> Float64[Tensor, "points classes"]:
    require(prediction, "mixture_log_probs")
    return prediction.mixture_log_probs.double().exp()


def _log_draws(prediction: Predictive) -> Float[Tensor, "draws points classes"]:
    if not isinstance(prediction, CategoricalPredictive):
        raise CannotAnswer(f"needed draws of probabilities; got a {type(prediction).__name__}")
    return prediction.log_probs
