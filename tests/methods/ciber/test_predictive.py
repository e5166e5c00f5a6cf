"""Predictive distributions with a floor: moments, mass and the likelihood of the paper's code."""

import math
from dataclasses import replace

import pytest
import torch

from bnnbench.engine.run.packing import vars_of
from bnnbench.methods.ciber.predictive import AffinePredictive, RectifiedPredictive
from bnnbench.methods.predictions.predictive import RealPredictive
from tests.methods.problems import stream

DRAWS, POINTS = 3, 4
NO_FLOOR = (0.0, 0.0, 0.0, 0.0)


def uniform(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(*shape, generator=stream(seed), dtype=torch.float64)


def affine() -> AffinePredictive:
    return AffinePredictive(
        0.2 + uniform(DRAWS, POINTS, 1),
        torch.zeros(1, POINTS, 4, dtype=torch.float64),
        uniform(DRAWS, POINTS, 1, seed=1) - 0.5,
        uniform(DRAWS, POINTS, 6, seed=2),
    )


def rectified() -> RectifiedPredictive:
    widths = uniform(DRAWS, POINTS, 2, 3, seed=4)
    widths[:, :, 1, 1:] = 0
    return RectifiedPredictive(
        *(affine().half_bases, affine().floor, uniform(DRAWS, POINTS, 1, seed=1)),
        uniform(DRAWS, POINTS, 2, seed=2) - 0.3,
        uniform(DRAWS, POINTS, 2, seed=3) - 0.5,
        widths,
    )


KINDS = {"affine": affine, "rectified": rectified}


@pytest.fixture(params=KINDS)
def prediction(request) -> AffinePredictive | RectifiedPredictive:
    return KINDS[request.param]()


GRID = torch.linspace(-5, 6, 1101, dtype=torch.float64)


def on_grid(prediction: AffinePredictive | RectifiedPredictive) -> torch.Tensor:
    """Return the density of each point on the whole grid."""
    fields = vars_of(prediction).items()
    wide = type(prediction)(**{name: torch.cat([t] * len(GRID), 1) for name, t in fields})
    return wide.log_prob(GRID.repeat_interleave(POINTS)[:, None]).exp().view(-1, POINTS)


@pytest.mark.parametrize("floor", [NO_FLOOR, (0.05, -4.0, 5.0, 0.0)])
def test_mass_and_cdf_agree_with_the_density(prediction, floor):
    floored = prediction.with_floor(*floor)
    assert isinstance(floored, RealPredictive)
    density = on_grid(floored)
    # The floor has two steps; at each, the trapezoidal rule errs by half of a cell.
    close = {"rtol": 0, "atol": 0.05 * 0.01 if floor[0] else 1e-4}
    mass = torch.trapezoid(density, GRID, dim=0)
    torch.testing.assert_close(mass, torch.ones_like(mass), **close)
    for y in (-1.0, 0.2, 1.5):
        below = y + 1e-9 >= GRID
        wanted = torch.trapezoid(density[below], GRID[below], dim=0)
        found = floored.cdf(torch.full((POINTS, 1), y, dtype=torch.float64))[:, 0]
        torch.testing.assert_close(found, wanted, **close)


FLOORS = [
    (epsilon, *bounds)
    for epsilon in (0.0, 1e-4, 1e-2, 1.0, 100.0)
    for bounds in ((-4.0, 9.0, 0.0), (-math.inf, math.inf, 1e-3))
]


@pytest.mark.parametrize("floor", FLOORS)
def test_moments_agree_with_the_boxes_whatever_the_floor(prediction, floor):
    """By quadrature of the density without a floor."""
    density, floored = on_grid(prediction), prediction.with_floor(*floor)
    mean = torch.trapezoid(density * GRID[:, None], GRID, dim=0)
    torch.testing.assert_close(floored.mean[:, 0], mean, rtol=0, atol=1e-4)
    spread = torch.trapezoid(density * (GRID[:, None] - mean) ** 2, GRID, dim=0)
    torch.testing.assert_close(floored.variance[:, 0], spread, rtol=0, atol=1e-4)
    exact = {"rtol": 1e-14, "atol": 1e-14}
    torch.testing.assert_close(floored.mean, prediction.mean, **exact)
    torch.testing.assert_close(floored.variance, prediction.variance, **exact)


@pytest.mark.parametrize(
    "floor", [NO_FLOOR, (0.05, -4.0, 5.0, 0.0), (0.05, -math.inf, math.inf, 1e-3)]
)
def test_another_scale_changes_nothing_but_the_scale(prediction, floor):
    mean, std = 3.0, 0.25
    floored = prediction.with_floor(*floor)
    target = 2 * uniform(POINTS, 1, seed=5) - 1
    other, there = floored.rescaled(mean, std), mean + std * target
    close = {"rtol": 1e-10, "atol": 1e-12}
    torch.testing.assert_close(
        other.log_prob(there) + math.log(std), floored.log_prob(target), **close
    )
    torch.testing.assert_close(other.cdf(there), floored.cdf(target), **close)
    torch.testing.assert_close(other.mean, mean + std * floored.mean, **close)
    torch.testing.assert_close(other.variance, std**2 * floored.variance, **close)


def test_beyond_the_support_there_is_the_floor_or_nothing(prediction):
    far = torch.full((POINTS, 1), 20.0, dtype=torch.float64)
    assert (prediction.density(far) == 0).all()
    assert (prediction.log_prob(far) == -math.inf).all()
    floored = prediction.with_floor(0.01, -30.0, 30.0, 0.0)
    assert floored.log_prob(far).tolist() == pytest.approx([math.log(0.01 / 1.6)] * POINTS)
    outside = prediction.with_floor(0.01, -10.0, 10.0, 0.0)
    assert (outside.log_prob(far) == -math.inf).all()


def test_some_points_at_a_time_are_all_points(prediction, monkeypatch):
    target = uniform(POINTS, 1, seed=5)
    whole = prediction.log_prob(target)
    for kept in (100_000, 1):
        monkeypatch.setattr("bnnbench.methods.ciber.predictive.CHUNK_VALUES", 1)
        monkeypatch.setattr("bnnbench.methods.ciber.predictive.KEPT_COMPONENTS", kept)
        assert torch.equal(replace(prediction).log_prob(target), whole)


def single(centre: float, widths: list[float], half_base: float, points: int) -> AffinePredictive:
    return AffinePredictive(
        torch.full((1, points, 1), half_base, dtype=torch.float64),
        torch.zeros(1, points, 4, dtype=torch.float64),
        torch.full((1, points, 1), centre, dtype=torch.float64),
        torch.tensor(widths, dtype=torch.float64).expand(1, points, -1),
    )


@pytest.mark.parametrize(
    ("epsilon", "wanted"),
    [
        (0.0, (0.801834734756, 0.350486657618)),
        (1e-3, (0.801465074116, 0.350895591865)),
        (1e-2, (0.798194642201, 0.354513482075)),
    ],
)
def test_the_likelihood_of_the_papers_code_is_truncated_to_the_scored_range(epsilon, wanted):
    """Values from rational arithmetic, on a range of [-0.801, 0.901]."""
    target = torch.tensor([[-0.8], [0.3], [0.6], [0.9]], dtype=torch.float64)
    prediction = single(0.0, [1, 0.4, 0.15], 0.5, 4)
    found = prediction.with_floor(epsilon, -math.inf, math.inf, 1e-3).log_prob(target).exp()
    assert found[1:3].tolist() == pytest.approx(wanted, rel=1e-11)
    alone = prediction.with_floor(*NO_FLOOR)
    assert torch.equal(replace(alone, floor=alone.floor).mean, prediction.mean)
    ends = torch.tensor([[-0.801], [0.901]], dtype=torch.float64)
    low, high = single(0.0, [1, 0.4, 0.15], 0.5, 2).cdf(ends)[:, 0].tolist()
    assert high - low == pytest.approx(0.984940013635, rel=1e-11)


def test_a_draw_without_mass_in_the_scored_range_counts_for_nothing():
    target = torch.tensor([[-0.4], [0.3]], dtype=torch.float64)
    here, far = single(0.0, [1.0], 0.5, 2), single(50.0, [1.0], 0.5, 2)
    both = AffinePredictive(
        *(torch.cat([here.half_bases, far.half_bases]), here.floor),
        *(torch.cat([here.centres, far.centres]), torch.cat([here.widths, far.widths])),
    ).with_floor(0.0, -math.inf, math.inf, 0.0)
    alone = here.with_floor(0.0, -math.inf, math.inf, 0.0).log_prob(target)
    torch.testing.assert_close(both.log_prob(target), alone - math.log(2))
