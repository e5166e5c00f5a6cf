"""Divergences of densities on a grid, against closed forms and quadrature."""

import math

import pytest
import torch
from scipy import integrate

from bnnbench.metrics.divergences import (
    OnGrid,
    cubic_error,
    kl_from_exact,
    kl_to_exact,
    logistic_error,
    total_variation,
)

Y = torch.linspace(-12, 12, 2001, dtype=torch.float64)
STEP = Y[1] - Y[0]


def on_grid(*log_densities: torch.Tensor) -> OnGrid:
    return OnGrid(torch.stack(log_densities), STEP.expand(len(log_densities)))


def normal(mean: float, std: float) -> torch.Tensor:
    return -0.5 * ((Y - mean) / std) ** 2 - math.log(std * math.sqrt(2 * math.pi))


def triangle(half_base: float) -> torch.Tensor:
    return ((1 - Y.abs() / half_base) / half_base).clamp(min=0).log()


EXACT = on_grid(normal(0, 1), normal(0.5, 1.2))
ESTIMATE = on_grid(normal(0.3, 0.8), normal(-0.4, 0.9))


def between_normals(mean: float, std: float, other: float, other_std: float) -> float:
    ratio = (std / other_std) ** 2
    return 0.5 * (ratio - 1 - math.log(ratio) + ((mean - other) / other_std) ** 2)


def test_divergences_of_normals_have_their_closed_form():
    to, back = kl_to_exact(ESTIMATE, EXACT), kl_from_exact(ESTIMATE, EXACT)
    ours, theirs = ((0.3, 0.8), (-0.4, 0.9)), ((0, 1), (0.5, 1.2))
    for k in range(2):
        assert float(to[k]) == pytest.approx(between_normals(*ours[k], *theirs[k]), rel=1e-10)
        assert float(back[k]) == pytest.approx(between_normals(*theirs[k], *ours[k]), rel=1e-10)


def test_total_variation_of_normals_of_one_variance_is_a_difference_of_cdfs():
    found = total_variation(on_grid(normal(0.7, 1)), on_grid(normal(0, 1)))
    # Between the midpoint of the means and infinity: 2 Φ(0.35) - 1.
    assert float(found) == pytest.approx(math.erf(0.35 / math.sqrt(2)), abs=1e-5)


def test_a_bounded_support_is_finitely_far_from_a_normal_and_infinitely_back():
    r = math.sqrt(6)
    bounded, exact = on_grid(triangle(r)), on_grid(normal(0, 1))

    def integrand(y: float) -> float:
        q = (1 - abs(y) / r) / r
        return q * (math.log(q) + 0.5 * y * y + 0.5 * math.log(2 * math.pi))

    wanted = 2 * integrate.quad(integrand, 0, r, epsabs=1e-12)[0]
    assert wanted == pytest.approx(0.0230, abs=1e-4)  # the triangle with equal variance
    assert float(kl_to_exact(bounded, exact)) == pytest.approx(wanted, abs=1e-4)
    assert float(kl_from_exact(bounded, exact)) == math.inf


@pytest.mark.parametrize("score", [kl_to_exact, kl_from_exact, total_variation])
def test_the_exact_density_is_at_no_distance(score):
    assert score(EXACT, EXACT).abs().max() < 1e-12


def test_errors_of_means_have_no_sign():
    found, exact = torch.tensor([0.2, 0.9]).double(), torch.tensor([0.5, 0.5]).double()
    for score in (logistic_error, cubic_error):
        torch.testing.assert_close(score(found, exact), torch.tensor([0.3, 0.4]).double())
