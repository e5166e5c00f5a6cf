"""Class probabilities by the largest of normal logits with logistic noise."""

from math import sqrt
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.units.standard import LOGISTIC_VARIANCE, log_normal_cdf

Softmax = Literal["simplified", "centred", "logistic", "normal"]


def log_probabilities(
    x: Moments,
    rule: Softmax = "simplified",
    covariance: Float[Tensor, "*batch classes classes"] | None = None,
) -> Float[Tensor, "*batch classes"]:
    r"""Return log probabilities of the classes on the last axis; they sum to 1.

    $\sigma_S^2 = \pi^2/3$ is the variance of the standard logistic distribution.

    - "simplified": the softmax of $\mu_k/\sqrt{v_k/\sigma_S^2 + 1}$, which changes if a constant is
      added to all means (paper 001, eq. 52);
    - "centred": the same with the average over classes subtracted from the means, which deviates
      from the paper and removes this defect;
    - "logistic": $-\log \sum_k \exp((\mu_k - \mu_y)/\sqrt{(v_k + v_y)/\sigma_S^2 + 1})$, where
      k = y adds 1 (eqs. 49 and 50);
    - "normal": $\sum_{k \ne y} \log\Phi((\mu_y - \mu_k)/\sqrt{v_y + v_k + \sigma_S^2})$, which is
      not the softmax at variance 0 (eq. 47).

    If the covariances of logits are given, whose diagonal is the variance, pairwise differences and
    centred logits have their exact variances; "simplified" uses no differences.
    """
    mean = x.mean
    variance = torch.zeros_like(mean) if x.variance is None else x.variance
    if rule == "centred":
        mean = mean - mean.mean(-1, keepdim=True)
        if covariance is not None:
            shared = covariance.mean(-1)
            variance = (variance - 2 * shared + shared.mean(-1, keepdim=True)).clamp(min=0)
    if rule in ("simplified", "centred"):
        return (mean / (variance / LOGISTIC_VARIANCE + 1).sqrt()).log_softmax(-1)
    if rule not in ("logistic", "normal"):
        raise ValueError(
            f'needed rule "simplified", "centred", "logistic" or "normal"; got {rule!r}'
        )
    ahead = mean.unsqueeze(-1) - mean.unsqueeze(-2)
    spread = variance.unsqueeze(-1) + variance.unsqueeze(-2)
    if covariance is not None:
        spread = (spread - 2 * covariance).clamp(min=0)
    scaled = ahead / (spread / LOGISTIC_VARIANCE + 1).sqrt()
    if rule == "logistic":
        return (-(-scaled).logsumexp(-1)).log_softmax(-1)
    itself = torch.eye(mean.shape[-1], dtype=torch.bool, device=mean.device)
    wins = log_normal_cdf(scaled / sqrt(LOGISTIC_VARIANCE))
    return wins.masked_fill(itself, 0).sum(-1).log_softmax(-1)
