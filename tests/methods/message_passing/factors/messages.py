"""Random and extreme messages for the tests of all factors, and quadrature over them."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian

DTYPES = (torch.float64, torch.float32)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


def gaussian(
    mean: float | Sequence, variance: float | Sequence, dtype: torch.dtype = torch.float64
) -> Gaussian:
    """Return N(mean, variance) in natural parameters, rounded once."""
    mean, variance = (torch.as_tensor(v, dtype=torch.float64) for v in (mean, variance))
    return Gaussian((mean / variance).to(dtype), (1 / variance).to(dtype))


def random_messages(
    *shape: int, seed: int, spread: float = 2.0, dtype: torch.dtype = torch.float64
) -> Gaussian:
    """Return messages with normal means and log-normal variances."""
    generator = torch.Generator().manual_seed(seed)
    mean, log_variance = (
        torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(2)
    )
    return gaussian(spread * mean, (1.5 * log_variance).exp(), dtype)


# A message of the pair (mean, log10 precision); uniform if the second is None.
extreme = st.tuples(st.floats(-1e6, 1e6), st.one_of(st.floats(-8, 8), st.just(None)))
dtypes = st.sampled_from(DTYPES)


def of_extremes(pairs: Sequence[tuple[float, float | None]], dtype: torch.dtype) -> Gaussian:
    """Return the messages that `extreme` describes."""
    rho = [0.0 if log_rho is None else 10.0**log_rho for _, log_rho in pairs]
    tau = [mean * precision for (mean, _), precision in zip(pairs, rho, strict=True)]
    return Gaussian(torch.tensor(tau, dtype=dtype), torch.tensor(rho, dtype=dtype))


def integral(function: Callable[[np.ndarray], np.ndarray], low: float, high: float) -> float:
    """Return the integral of a smooth function by 20 Gauss-Legendre nodes in each of 400 panels."""
    edges = np.linspace(low, high, 401)
    half = np.diff(edges)[:, None] / 2
    x = (edges[:-1, None] + half) + half * _NODES
    return float((function(x) * _WEIGHTS * half).sum())


def normal_pdf(x: np.ndarray, mean: float, variance: float) -> np.ndarray:
    """Return the density of N(mean, variance)."""
    return np.exp(-((x - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)


def is_bitwise_equal(left: Gaussian, right: Gaussian) -> bool:
    """Return whether all numbers are the same to the last bit."""
    return torch.equal(left.tau, right.tau) and torch.equal(left.rho, right.rho)


def assert_position_does_not_matter(
    function: Callable[..., Gaussian], *arguments: Gaussian | Tensor
) -> None:
    """Assert that each slice of the first dimension has the same bits separately, and reversed."""
    together = function(*arguments)
    reversed_ = function(*(_pick(a, slice(None, None, -1)) for a in arguments))
    assert is_bitwise_equal(together, _pick(reversed_, slice(None, None, -1)))
    for member in range(arguments[0].shape[0]):
        one = slice(member, member + 1)
        assert is_bitwise_equal(together[one], function(*(_pick(a, one) for a in arguments)))


def _pick(argument: Gaussian | Tensor, index: slice) -> Gaussian | Tensor:
    if index.step == -1:
        if isinstance(argument, Gaussian):
            return Gaussian(argument.tau.flip(0), argument.rho.flip(0))
        return argument.flip(0)
    return argument[index]
