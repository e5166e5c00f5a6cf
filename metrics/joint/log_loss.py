r"""The joint log loss of batches of test points.

$$ -\log \tfrac1S \sum_s \prod_{n=1}^{\tau} p(y_n | x_n, \theta_s) $$

Unlike marginal scores, it shows whether the draws agree on the correlation of errors at several
points. Source: Osband et al. (2022), "The Neural Testbed: Evaluating Joint Predictions".
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor

from bnnbench.methods.predictions.predictive import joint
from bnnbench.metrics.joint.batches import SIZE, batches, draw_log_probs, pairs

CHUNK_VALUES = 2**18


def joint_log_loss(prediction: Any, target: Tensor) -> Float64[Tensor, ""]:
    """Return the mean joint log loss of batches of ten different points, in nats per batch.

    Independent predictions score ten times their mean log loss. The batches are random, and the
    same for all methods. A density is per unit of every target. Raises `CannotAnswer` for a
    prediction without draws.
    """
    log_probs = draw_log_probs(prediction, target)
    rows = batches(log_probs.shape[1]).to(log_probs.device)
    return _mean_loss(len(log_probs) * SIZE, rows, lambda part: joint(log_probs[:, part], 2))


def dyadic_joint_log_loss(prediction: Any, target: Tensor) -> Float64[Tensor, ""]:
    r"""Return the mean joint log loss of ten points that repeat two anchors, in nats per batch.

    $$ \mathbb{E}_{k \sim \mathrm{Bin}(10, 1/2)} \Bigl[ -\log \tfrac1S \sum_s
       p(y_i | x_i, \theta_s)^k \, p(y_j | x_j, \theta_s)^{10 - k} \Bigr] $$

    The mean is over pairs of different test points i, j; the expectation over k is exact. The
    testbed draws anchors with replacement and k at random. As in its scores on real data, an
    anchor's single label is repeated with it, so that confident draws are favoured over draws that
    predict label noise: compare it alongside `joint_log_loss`, which is proper.
    Source: Osband et al. (2022), "Evaluating High-Order Predictive Distributions in Deep
    Learning" (τ = 10, κ = 2 anchors), and `make_local_sampler` of its public code.
    """
    log_probs = draw_log_probs(prediction, target)
    rows = torch.stack(pairs(log_probs.shape[1]), 1).to(log_probs.device)
    total = log_probs.new_zeros(())
    for count in range(SIZE + 1):
        chance = math.comb(SIZE, count) / 2**SIZE

        def of_pairs(part: Tensor, count: int = count) -> Tensor:
            first, second = log_probs[:, part[:, 0]], log_probs[:, part[:, 1]]
            return joint(torch.stack([_times(first, count), _times(second, SIZE - count)]), 0)

        total += chance * _mean_loss(len(log_probs), rows, of_pairs)
    return total


def _times(log_probs: Tensor, count: int) -> Tensor:
    """Return the log of a power, taking 0 to the power of 0 as 1."""
    return count * log_probs if count else torch.zeros_like(log_probs)


def _mean_loss(
    values_per_row: int, rows: Tensor, log_probs: Callable[[Tensor], Tensor]
) -> Float64[Tensor, ""]:
    """Return minus the mean over rows of the log of the mean over draws."""
    losses = []
    for part in rows.split(max(1, CHUNK_VALUES // values_per_row)):
        joint = log_probs(part)
        losses.append(math.log(len(joint)) - joint.logsumexp(0))
    each = torch.cat(losses)
    return torch.where(each.isposinf().any() & ~each.isnan().any(), math.inf, each.mean())
