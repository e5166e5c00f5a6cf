r"""The probability of a class when every logit is Gaussian: a multinomial probit, integrated.

This head is our extension; paper 004 leaves classes as future work. A label is the class with the
largest $f_k + e_k$, $e_k \sim N(0, 4/\pi)$. The difference of two such noises has the variance
$8/\pi$ with which a probit is closest to a logistic, so that logits keep the scale of a softmax.
With $f_k \sim N(m_k, v_k)$ independent and $s_k^2 = v_k + 4/\pi$,

$$ Z_y = \int N(u; 0, 1) \prod_{j \ne y} \Phi\Big(\frac{m_y + s_y u - m_j}{s_j}\Big) du $$

is exact. For two classes it is $\Phi((m_y - m_j)/\sqrt{s_y^2 + s_j^2})$; for more it is one
integral, computed by Gauss-Hermite quadrature. Compared with a softmax, whose expectation has no
such form, log Z has exact derivatives, so that the updates of paper 004 (eq. 6, 7) apply unchanged;
Z is log-concave, so that observing a label never widens a logit; and $\sum_y Z_y = 1$: predictions
and training use one likelihood. With the 32 nodes, probabilities of ten classes are accurate to
1e-4. For labels with probabilities below e^-50, whose mass is beyond the nodes, log Z is too small.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.pbp.kernels.constants import LOGIT_NOISE_VARIANCE

NODES = 32
POINTS_AT_ONCE = 2**20
"""Maximum number of values of one class's integrand at a time, to bound memory."""


def quadrature() -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and log weights for the expectation of a function of N(0, 1)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return nodes, np.log(weights / weights.sum())


def log_probabilities(
    mean: Float[Tensor, "points classes"], variance: Float[Tensor, "points classes"]
) -> Float[Tensor, "points classes"]:
    """Return log Z of every class."""
    noisy = variance + LOGIT_NOISE_VARIANCE
    if mean.shape[1] == 2:
        difference = (mean - mean.flip(1)) / noisy.sum(1, keepdim=True).sqrt()
        return torch.special.log_ndtr(difference)
    at_once = max(1, POINTS_AT_ONCE // (NODES * mean.shape[1]))
    pieces = zip(mean.split(at_once), noisy.sqrt().split(at_once), strict=True)
    return torch.cat([_integrated(*piece) for piece in pieces])


def _integrated(mean: Tensor, std: Tensor) -> Tensor:
    nodes, log_weights = (torch.from_numpy(values).to(mean) for values in quadrature())
    classes = []
    for y in range(mean.shape[1]):
        others = [j for j in range(mean.shape[1]) if j != y]
        latent = mean[:, y, None] + std[:, y, None] * nodes
        scaled = (latent[:, :, None] - mean[:, None, others]) / std[:, None, others]
        log_all = torch.special.log_ndtr(scaled).sum(-1)
        classes.append((log_all + log_weights).logsumexp(-1))
    return torch.stack(classes, dim=1)
