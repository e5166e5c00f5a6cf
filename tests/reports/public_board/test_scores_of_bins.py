"""Scores of masses of bins against closed forms."""

import numpy as np
import pytest
import torch
from scipy import special, stats

from bnnbench.methods.predictions.binned import binned
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.reports.public_board.columns import BINS
from bnnbench.reports.public_board.names import BETAS
from bnnbench.reports.public_board.scores_of_bins import density_loss, energy_score

MEAN, STD = 1.0, 2.0
TARGETS = np.array([-7.0, 0.9, 1.0, 4.0, 60.0])


@pytest.fixture(scope="module")
def bins():
    shape = (1, len(TARGETS), 1)
    return binned(GaussianPredictive(torch.full(shape, MEAN), torch.full(shape, STD**2)), BINS)


def expected_power(mean: np.ndarray, variance: float, beta: float) -> np.ndarray:
    """Return E|X|^β of a Gaussian: Winkelbauer (2012), eq. 17."""
    constant = (2 * variance) ** (beta / 2) * special.gamma((1 + beta) / 2) / np.sqrt(np.pi)
    return constant * special.hyp1f1(-beta / 2, 0.5, -(mean**2) / (2 * variance))


@pytest.mark.parametrize("beta", BETAS)
def test_energy_scores_of_a_gaussian_have_their_closed_form(bins, beta):
    found = energy_score(bins.masses, bins.edges, TARGETS, beta)
    expected = expected_power(MEAN - TARGETS, STD**2, beta)
    expected = expected - expected_power(np.zeros(5), 2 * STD**2, beta) / 2
    np.testing.assert_allclose(found, expected, rtol=2e-4)


def test_the_density_loss_of_a_gaussian_has_its_closed_form(bins):
    found = density_loss(bins.masses, bins.edges, TARGETS)
    density = stats.norm.pdf(TARGETS, MEAN, STD)
    np.testing.assert_allclose(found, 1 / (2 * STD * np.sqrt(np.pi)) - 2 * density, atol=2e-3)


def test_energy_scores_are_those_of_all_pairs_of_bins():
    rng = np.random.default_rng(0)
    masses = rng.dirichlet(np.ones(6), 2)
    edges = np.stack([np.linspace(0, 3, 7), np.linspace(-5, 1, 7)])
    targets = np.array([0.7, 2.0])
    u = (np.arange(400) + 0.5) / 400
    for row in range(2):
        points = (edges[row, :-1, None] + np.diff(edges[row])[:, None] * u).ravel()
        weight = np.repeat(masses[row] / 400, 400)
        spread = weight @ np.abs(points[:, None] - points) ** 0.5 @ weight
        expected = weight @ np.abs(points - targets[row]) ** 0.5 - spread / 2
        found = energy_score(masses, edges, targets, 0.5)[row]
        assert found == pytest.approx(expected, rel=1e-3)


def test_a_point_has_the_power_of_its_distance():
    masses, edges = np.array([[0.25, 0.75]]), np.full((1, 3), 2.0)
    assert energy_score(masses, edges, np.array([6.0]), 0.5) == pytest.approx(2.0)
    assert density_loss(masses, edges, np.array([6.0])) == np.inf
