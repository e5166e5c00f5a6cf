"""Moments of products of independent units."""

from bnnbench.methods.moments.base import Moments


def product(x: Moments, y: Moments) -> Moments:
    r"""Return the moments of the product of independent X and Y with any distributions.

    $$ \mu' = \mu_1\mu_2, \quad v' = v_1 v_2 + v_1\mu_2^2 + \mu_1^2 v_2 $$

    Source: paper 001, appendix C.1.
    """
    mean = x.mean * y.mean
    if x.variance is None and y.variance is None:
        return Moments(mean)
    if y.variance is None:
        x, y = y, x
    assert y.variance is not None
    if x.variance is None:
        return Moments(mean, x.mean**2 * y.variance)
    second = x.mean**2 + x.variance
    return Moments(mean, second * y.variance + x.variance * y.mean**2)
