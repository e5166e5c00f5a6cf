"""The CRPS from a cdf, compared with closed forms."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from scipy import special, stats
from torch import Tensor

from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.student import StudentPredictive
from bnnbench.metrics import METRICS, quadrature
from bnnbench.metrics.crps import crps


@dataclass(frozen=True)
class ByCdf:
    """A prediction of which nothing else is known."""

    law: Callable[[np.ndarray], np.ndarray]
    points: int = 1

    def __len__(self) -> int:
        return self.points

    def cdf(self, target: Tensor) -> Tensor:
        return torch.from_numpy(np.asarray(self.law(target.numpy())))


def by_cdf(law: Callable[[np.ndarray], np.ndarray], *targets: float) -> list[float]:
    """Return the score of each target."""
    column = torch.tensor(targets, dtype=torch.float64)[:, None]
    return crps(ByCdf(law, len(targets)), column).tolist()


def of_student(nu: float, y: float) -> float:
    """Return the score by Jordan, Krüger and Lerch (2019), "Evaluating probabilistic forecasts"."""
    law, ratio = stats.t(nu), special.betaln(0.5, nu - 0.5) - 2 * special.betaln(0.5, nu / 2)
    density = 2 * law.pdf(y) * (nu + y * y) / (nu - 1)
    return y * (2 * law.cdf(y) - 1) + density - 2 * math.sqrt(nu) / (nu - 1) * math.exp(ratio)


def of_lognormal(sigma: float, y: float) -> float:
    """Return the score by Baran and Lerch (2015), of a median of 1."""
    z, cdf, mean = math.log(y) / sigma, stats.norm.cdf, math.exp(sigma * sigma / 2)
    return y * (2 * cdf(z) - 1) - 2 * mean * (cdf(z - sigma) - cdf(-sigma / math.sqrt(2)))


@pytest.mark.parametrize("target", [0.0, 1.0, -3.0, 1e6])
def test_students_t_has_its_closed_form_however_few_the_degrees(target):
    degrees = torch.tensor([1.01, 1.05, 1.5, 2.0, 2.1, 3.0, 30.0], dtype=torch.float64)
    locations = torch.full((1, 7, 1), 4.0, dtype=torch.float64)
    prediction = StudentPredictive(locations, 0 * locations + 0.5, degrees[None, :, None])
    found = crps(prediction, 4 + 0.5 * torch.full((7, 1), target, dtype=torch.float64))
    expected = [0.5 * of_student(nu, target) for nu in degrees.tolist()]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_mixture_of_ts_has_its_integral():
    centres, degrees = torch.tensor([-3.0, 0.0, 50.0]), torch.tensor([1.5, 2.0, 4.0])
    shape = (3, 1, 1)
    prediction = StudentPredictive(
        centres.view(shape), torch.tensor([1.0, 0.01, 3.0]).view(shape), degrees.view(shape)
    )
    law = stats.t(degrees.numpy(), centres.numpy(), [1.0, 0.01, 3.0])
    # Midpoints of steps that grow with the distance from each centre and from the target.
    edges = np.sinh(np.linspace(-30, 30, 40_001))
    edges = np.unique(np.concatenate([c + s * edges for c, s in ((-3, 1), (0, 0.01), (50, 3))]))
    x = (edges[1:] + edges[:-1]) / 2
    below = law.cdf(x[:, None]).mean(1)
    above = law.sf(x[:, None]).mean(1)
    expected = (np.where(x < 0.0, below, above) ** 2 * np.diff(edges)).sum()
    found = crps(prediction, torch.zeros(1, 1)).item()
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("sigma", [0.1, 0.5, 1.5, 3.0, 5.0])
def test_log_normals_have_their_closed_form_from_the_cdf_alone(sigma):
    targets = [0.001, 1.0, 3.0, 1e4]
    expected = [of_lognormal(sigma, y) for y in targets]
    found = by_cdf(stats.lognorm(sigma).cdf, *targets)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_an_exponential_has_its_closed_form_in_any_unit(scale):
    targets = [-3.0, 0.0, 0.7, 200.0]
    tails = [math.exp(-max(y, 0.0)) for y in targets]
    expected = [abs(y) - 2 * (1 - t) * (y > 0) + 0.5 for y, t in zip(targets, tails, strict=True)]
    found = by_cdf(stats.expon(scale=scale).cdf, *(scale * y for y in targets))
    np.testing.assert_allclose(found, np.multiply(scale, expected), rtol=1e-8)


def test_it_is_finite_for_a_cauchy_and_infinite_for_still_heavier_tails():
    [finite] = by_cdf(stats.cauchy.cdf, 0.0)
    assert finite == pytest.approx(2 * math.log(2) / math.pi, rel=1e-9)
    assert by_cdf(stats.t(0.4).cdf, 0.0, 7.0) == [math.inf, math.inf]
    assert METRICS["crps"].limits == ("inf",)


def test_steps_are_found_wherever_they_are():
    weights, places = np.array([0.6, 0.15, 0.25]), np.array([0.0, 2.0, 1e5])

    def cdf(x: np.ndarray) -> np.ndarray:
        return (weights * (places <= x[..., None])).sum(-1)

    targets = [0.0, 1.0, 5e4, -1e6]
    spread = weights @ np.abs(places[:, None] - places) @ weights / 2
    expected = [weights @ np.abs(places - y) - spread for y in targets]
    np.testing.assert_allclose(by_cdf(cdf, *targets), expected, rtol=1e-6)


def test_a_point_mass_is_scored_by_its_distance():
    found = by_cdf(lambda x: (x >= 5.0).astype(float), 5.0, 2.0, 1e9)
    assert found == pytest.approx([0.0, 3.0, 1e9 - 5], abs=1e-12)


def test_a_cdf_in_single_precision_keeps_that_precision():
    def cdf(x: np.ndarray) -> np.ndarray:
        return stats.t(30).cdf(x).astype(np.float32) * (1 - 6e-8)  # never quite 1

    assert by_cdf(cdf, 2.0) == pytest.approx([of_student(30, 2.0)], rel=1e-6)


def test_an_integral_that_is_not_accurate_is_not_a_score(monkeypatch):
    monkeypatch.setattr(quadrature, "MOST_PANELS", 8)
    with pytest.raises(CannotAnswer, match="to within 1 %"):
        by_cdf(lambda x: (x >= 0.0) * 0.4 + (x >= 1.0) * 0.2 + (x >= 3.7) * 0.4, 0.5)


def test_a_cdf_that_is_not_a_number_has_no_score():
    [missing] = by_cdf(lambda x: np.full_like(x, np.nan), 0.0)
    assert math.isnan(missing)
