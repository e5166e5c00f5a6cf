r"""Max-pooling with the moments of a maximum, by a tree of pairs, and a linear backward message.

The members of each pair, and the result, are treated as normal and independent. Source: Clark
(1961), "The Greatest of a Finite Set of Random Variables". The backward message treats the maximum
as linear in its inputs: by Stein's lemma $\mathrm{Cov}(x_j, w) = s_j c_j$, with $s_j$ the variance
of input j and $c_j$ the product of the probabilities, along the tree, that its branch is the
greater.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from bnnbench.methods.message_passing.factors.double import moments, narrowed, widened
from bnnbench.methods.message_passing.factors.max_pool import scattered, windows
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.moments.units import standard

LEAST_VARIANCE = 1e-30


@dataclass(frozen=True)
class _Maximum:
    """Moments of the maximum of some inputs, and each input's share in it."""

    mean: Tensor
    variance: Tensor
    shares: tuple[Tensor | float, ...]


def forward(z: Gaussian, size: int) -> Gaussian:
    """Return the moment-matched message to each maximum; a ragged border is dropped."""
    whole, _ = _maxima(z, size)
    return narrowed(Gaussian.of(whole.mean, whole.variance), z)


def backward(z: Gaussian, back: Gaussian, size: int) -> Gaussian:
    r"""Return the message to each input: uniform in the border that pooling dropped.

    For a message $(\tau, \rho)$ to a maximum of mean M and variance V:

    $$ \rho_j = c_j^2 \rho / D, \quad \tau_j = c_j (\tau - \rho (M - c_j m_j)) / D, \quad
       D = 1 + \rho \max(0, V - c_j^2 s_j). $$
    """
    whole, leaves = _maxima(z, size)
    above, messages = widened(back), []
    for (mean, variance), share in zip(leaves, whole.shares, strict=True):
        rest = (whole.variance - share * share * variance).clamp_min(0)
        width = 1 + above.rho * rest
        tau = share * (above.tau - above.rho * (whole.mean - share * mean)) / width
        messages.append(narrowed(Gaussian(tau, share * share * above.rho / width), z))
    return scattered(messages, z, size)


def _maxima(z: Gaussian, size: int) -> tuple[_Maximum, list[tuple[Tensor, Tensor]]]:
    """Return the maximum of each window, and the moments of its inputs, row by row."""
    leaves = [moments(term) for term in windows(z, size)]
    ones = [_Maximum(mean, variance, (1.0,)) for mean, variance in leaves]
    rows = [_tree(ones[start : start + size]) for start in range(0, size * size, size)]
    return _tree(rows), leaves


def _tree(nodes: Sequence[_Maximum]) -> _Maximum:
    """Return the maximum, joining neighbours first; a last input without a neighbour moves up."""
    while len(nodes) > 1:
        pairs = [_joined(*nodes[k : k + 2]) for k in range(0, len(nodes) - 1, 2)]
        nodes = [*pairs, *nodes[2 * len(pairs) :]]
    return nodes[0]


def _joined(x: _Maximum, y: _Maximum) -> _Maximum:
    difference, spread = x.mean - y.mean, x.variance + y.variance
    a = standard.standardised(difference, spread)
    mean = x.mean.maximum(y.mean) + standard.mean_excess(difference, spread)
    variance = x.variance * standard.variance_ratio(a) + y.variance * standard.variance_ratio(-a)
    of_x, of_y = standard.normal_cdf(a), standard.normal_cdf(-a)
    shares = *(of_x * share for share in x.shares), *(of_y * share for share in y.shares)
    return _Maximum(mean, variance.clamp_min(LEAST_VARIANCE), shares)
