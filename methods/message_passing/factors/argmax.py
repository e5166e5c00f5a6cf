"""The factor of a class label: the true class has the largest output.

Each other class is compared with the true one under a little noise. Source: paper 000, table 3;
the damping of the losing side and the regulariser follow its authors' experiments.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from bnnbench.methods.message_passing.factors.double import moments, narrowed
from bnnbench.methods.message_passing.factors.truncation import Truncated, cdf, truncated
from bnnbench.methods.message_passing.gaussian import Gaussian

NOISE_VARIANCE = 0.3
"""The variance of the noise in the comparison of two outputs."""
TARGET_VARIANCE = 0.1
"""The regulariser's variance: N(+1, 0.1) for the true class and N(-1, 0.1) for every other."""


def backward(
    z: Gaussian,
    labels: Int[Tensor, "*points"],
    noise_variance: float = NOISE_VARIANCE,
    target_variance: float | None = TARGET_VARIANCE,
) -> Gaussian:
    """Return the messages to the outputs of all classes, in the last dimension of z.

    All pairs are computed from the messages z at once. The message to a losing class is scaled by
    the probability that it loses. If `target_variance` is None, there is no regulariser.
    """
    mean, variance = moments(z)
    index = labels.long().unsqueeze(-1)
    true_mean, true_variance = mean.gather(-1, index), variance.gather(-1, index)
    total = true_variance + variance + noise_variance
    root = total.sqrt()
    x = (true_mean - mean) / root
    positive = truncated(x)
    # The message to either side of the difference, given its own mean and the other side's.
    to_true = _to_term(x, positive, root, true_mean, -mean)
    to_other = -_to_term(x, positive, root, -mean, true_mean)
    true_divisor = variance + noise_variance + positive.variance * true_variance
    other_divisor = true_variance + noise_variance + positive.variance * variance
    loses = cdf(x)
    is_true = torch.zeros_like(x).scatter(-1, index, 1.0).bool()
    tau = torch.where(
        is_true,
        _sum_of_others(to_true / true_divisor, is_true),
        loses * to_other / other_divisor,
    )
    rho = torch.where(
        is_true,
        _sum_of_others(positive.lost / true_divisor, is_true),
        loses * positive.lost / other_divisor,
    )
    if target_variance is not None:
        rho = rho + 1 / target_variance
        tau = tau + torch.where(is_true, 1 / target_variance, -1 / target_variance)
    return narrowed(Gaussian(tau, rho), z)


def log_probabilities(
    mean: Float[Tensor, "*points classes"],
    variance: Float[Tensor, "*points classes"],
    noise_variance: float = NOISE_VARIANCE,
) -> Float[Tensor, "*points classes"]:
    """Return the log probability that each class beats all others, normalised over classes."""
    mean, variance, dtype = mean.double(), variance.double(), mean.dtype
    scores = torch.zeros_like(mean)
    for j in range(mean.shape[-1]):
        x = (mean - mean[..., j : j + 1]) / (
            variance + variance[..., j : j + 1] + noise_variance
        ).sqrt()
        against = torch.special.log_ndtr(x)
        against[..., j] = 0.0
        scores = scores + against
    return scores.log_softmax(-1).to(dtype)


def log_largest(
    mean: Float[Tensor, "*points classes"],
    variance: Float[Tensor, "*points classes"],
    noise_variance: float = NOISE_VARIANCE,
) -> Float[Tensor, "*points classes"]:
    r"""Return the log probability that each class's noisy output is the largest.

    With half of a difference's noise on each output, every pair has the same probability as in
    `log_probabilities`, but pairs that share an output depend on each other:
    $\int N(u; \mu_c, s_c) \prod_{j \ne c} \Phi((u - \mu_j) / \sqrt{s_j})\, du$, by the
    trapezoidal rule over 12 standard deviations on either side.
    """
    mean, std, dtype = mean.double(), (variance.double() + noise_variance / 2).sqrt(), mean.dtype
    nodes = torch.arange(-12.0, 12.03125, 0.0625, dtype=mean.dtype, device=mean.device)
    scores = []
    for c in range(mean.shape[-1]):
        at = mean[..., c : c + 1] + std[..., c : c + 1] * nodes
        mass = -nodes.square() / 2
        for j in range(mean.shape[-1]):
            if j != c:
                margin = (at - mean[..., j : j + 1]) / std[..., j : j + 1]
                mass = mass + torch.special.log_ndtr(margin)
        scores.append(mass.expand_as(at).logsumexp(-1))
    return torch.stack(scores, -1).log_softmax(-1).to(dtype)


def _to_term(x: Tensor, positive: Truncated, root: Tensor, tau: Tensor, other: Tensor) -> Tensor:
    """Return the tau of the message to one of two summands, before its divisor.

    Both forms are equal; each is free of cancellation on its side of 0.
    """
    return torch.where(
        x > 0,
        root * positive.hazard + positive.lost * tau,
        root * positive.mean - other - positive.variance * tau,
    )


def _sum_of_others(terms: Tensor, is_true: Tensor) -> Tensor:
    """Return the sum over the last dimension without the true class, summed in class order."""
    terms = torch.where(is_true, 0.0, terms)
    total = terms[..., :1]
    for k in range(1, terms.shape[-1]):
        total = total + terms[..., k : k + 1]
    return total
