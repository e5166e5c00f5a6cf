"""Distances between predictive distributions, against closed forms, quadrature and sampling."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import integrate, optimize, special

from bnnbench.methods.ciber.predictive import AffinePredictive
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.predictions.student import StudentPredictive
from bnnbench.metrics import DISTANCES, value
from bnnbench.metrics.distances import NODES, REACH, Tabulated, kl_divergence, wasserstein2

PAIRS = [(0.0, 1.0, 0.0, 1.0), (0.3, 1.0, -0.5, 1.0), (0.0, 1.0, 0.0, 2.5), (4.0, 0.1, -30.0, 7.0)]
MIXTURES = {
    "two far apart": ([-6.0, 6.0], [0.3, 0.5]),
    "broad and narrow": ([0.0, 0.2], [3.0, 0.2]),
    "five of one width": ([-2.0, -0.5, 0.1, 0.4, 3.0], [0.7] * 5),
}
GAUSSIAN = ([0.5], [1.4])


def of(means, stds, points=1):
    """Return the same mixture at every point."""
    means, stds = (torch.tensor(v, dtype=torch.float64)[:, None, None] for v in (means, stds))
    return Tabulated(GaussianPredictive(means.repeat(1, points, 1), (stds**2).repeat(1, points, 1)))


def twice(table):
    """Return the same distribution as a mixture of twice as many draws."""
    p = table.prediction
    return Tabulated(GaussianPredictive(p.means.repeat(2, 1, 1), p.variances.repeat(2, 1, 1)))


def pdf(mixture, x):
    means, stds = np.array(mixture)
    z = (np.asarray(x)[..., None] - means) / stds
    return (np.exp(-(z**2) / 2) / stds).mean(-1) / math.sqrt(2 * math.pi)


def cdf(mixture, x):
    means, stds = np.array(mixture)
    return special.ndtr((np.asarray(x)[..., None] - means) / stds).mean(-1)


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize(("m1", "s1", "m2", "s2"), PAIRS)
def test_gaussians_are_as_far_apart_as_their_closed_form_says(m1, s1, m2, s2, double):
    one, other = of([m1], [s1]), of([m2], [s2])
    if double:  # mixtures of two equal draws are computed on the grid
        one, other = twice(one), twice(other)
    expected = math.hypot(m1 - m2, s1 - s2)
    assert wasserstein2(one, other).item() == pytest.approx(expected, rel=1e-5, abs=1e-12)
    expected = math.log(s1 / s2) + (s2**2 + (m1 - m2) ** 2) / (2 * s1**2) - 0.5
    assert kl_divergence(one, other).item() == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("mixture", MIXTURES.values(), ids=MIXTURES)
def test_wasserstein_distance_equals_the_quadrature_of_quantiles(mixture):
    def gap(u):
        quantile = optimize.brentq(lambda x: cdf(mixture, x) - u, -40, 40, xtol=1e-13)
        return (quantile - GAUSSIAN[0][0] - GAUSSIAN[1][0] * special.ndtri(u)) ** 2

    square, error = integrate.quad(gap, 1e-10, 1 - 1e-10, limit=1000, points=[0.5], epsabs=1e-7)
    assert error < 1e-5
    found = wasserstein2(of(*mixture), of(*GAUSSIAN)).item()
    assert found == pytest.approx(math.sqrt(square), rel=1e-4)


@pytest.mark.parametrize("mixture", MIXTURES.values(), ids=MIXTURES)
@pytest.mark.parametrize("other", [GAUSSIAN, ([-5.0, 4.0, 1.0], [1.0, 2.0, 1.5])])
def test_kl_equals_adaptive_quadrature(mixture, other):
    def integrand(x):
        p = pdf(mixture, x)
        return p * (np.log(p) - np.log(pdf(other, x))) if p > 0 else 0.0

    peaks = sorted({*mixture[0], *other[0]})
    expected, _ = integrate.quad(integrand, -25, 25, limit=2000, points=peaks, epsabs=1e-11)
    assert kl_divergence(of(*other), of(*mixture)).item() == pytest.approx(expected, rel=1e-7)


DEGREES, LOCATION, SCALE = 7, 1.0, 1.5


def student_log_pdf(x):
    z, half = (x - LOCATION) / SCALE, (DEGREES + 1) / 2
    constant = special.gammaln(half) - special.gammaln(DEGREES / 2)
    return (
        constant - math.log(SCALE * math.sqrt(DEGREES * math.pi)) - half * np.log1p(z**2 / DEGREES)
    )


@pytest.fixture
def student():
    one = torch.ones(1, 1, 1, dtype=torch.float64)
    return Tabulated(StudentPredictive(LOCATION * one, SCALE * one, DEGREES * one))


def test_other_distributions_have_the_distance_that_their_quantiles_say(student):
    def gap(u):
        quantile = LOCATION + SCALE * special.stdtrit(DEGREES, u)
        return (quantile - GAUSSIAN[0][0] - GAUSSIAN[1][0] * special.ndtri(u)) ** 2

    square, _ = integrate.quad(gap, 0, 1, limit=1000, epsabs=1e-8)
    # 7 degrees of freedom leave 3e-5 of the mass and 1e-3 of the variance beyond the grid.
    assert wasserstein2(student, of(*GAUSSIAN)).item() == pytest.approx(math.sqrt(square), rel=0.01)
    assert wasserstein2(of(*GAUSSIAN), student).item() == pytest.approx(math.sqrt(square), rel=0.01)
    assert wasserstein2(student, student).item() == 0


def test_other_distributions_have_the_divergence_of_adaptive_quadrature(student):
    def gaussian(x):
        return math.log(pdf(GAUSSIAN, x))

    def integrand(x, log_p, log_q):
        return math.exp(log_p(x)) * (log_p(x) - log_q(x))

    expected, _ = integrate.quad(integrand, -12, 13, (gaussian, student_log_pdf), epsabs=1e-12)
    assert kl_divergence(student, of(*GAUSSIAN)).item() == pytest.approx(expected, rel=1e-9)
    low, high = (end.item() for end in student.ends)
    expected, _ = integrate.quad(integrand, low, high, (student_log_pdf, gaussian))
    found = kl_divergence(of(*GAUSSIAN), student).item()
    # The trapezoidal rule is of second order if a density is not 0 at the ends.
    assert found == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("node", [240, 255, 256])
def test_a_narrow_component_on_a_node_moves_the_distance_by_no_more_than_a_step(node):
    """There the density is thousands of times the increase of the cdf in a step."""
    scales, degrees = torch.tensor([1.0, 1e-4]), torch.full((2, 1, 1), 30.0)

    def with_narrow_at(place):
        places = torch.tensor([0.0, place], dtype=torch.float64)
        return Tabulated(
            StudentPredictive(places[:, None, None], scales[:, None, None].double(), degrees)
        )

    place = optimize.brentq(lambda x: with_narrow_at(x).nodes[0, node].item() - x, -2, 2)
    table = with_narrow_at(place)
    levels = (np.arange(200_000) + 0.5) / 200_000
    drawn = np.sort(np.concatenate([special.stdtrit(30, levels[::2]), np.full(100_000, place)]))
    square = np.mean((drawn - GAUSSIAN[0][0] - GAUSSIAN[1][0] * special.ndtri(levels)) ** 2)
    found = wasserstein2(table, of(*GAUSSIAN)).item()
    assert found == pytest.approx(math.sqrt(square), abs=table.step.item())


def test_boxes_of_weights_have_the_distance_of_sorted_samples_and_no_tails():
    bases, floor = torch.full((2, 1, 1), 0.3).double(), torch.tensor([[[0.0, -9.0, 9.0, 0.0]]])
    centres, widths = torch.tensor([-1.0, 2.0]), torch.tensor([[2.0, 0.5], [1.0, 3.0]])
    box = AffinePredictive(bases, floor, centres[:, None, None], widths[:, None])
    rng = np.random.default_rng(0)
    chosen = rng.integers(2, size=400_000)
    drawn = centres.numpy()[chosen] + rng.triangular(-0.3, 0, 0.3, len(chosen))
    drawn += (widths.numpy()[chosen] * rng.uniform(-0.5, 0.5, (len(chosen), 2))).sum(1)
    assert drawn.var() == pytest.approx(box.variance.item(), rel=0.01)  # widths are full widths
    levels = (np.arange(len(drawn)) + 0.5) / len(drawn)
    other = GAUSSIAN[0][0] + GAUSSIAN[1][0] * special.ndtri(levels)
    expected = np.sqrt(np.mean((np.sort(drawn) - other) ** 2))
    found = wasserstein2(Tabulated(box), of(*GAUSSIAN)).item()
    assert found == pytest.approx(expected, rel=0.005)
    assert kl_divergence(Tabulated(box), of(*GAUSSIAN)).item() == math.inf


def test_wasserstein_distance_equals_that_of_sorted_samples():
    rng = np.random.default_rng(0)
    samples = []
    for means, stds in (MIXTURES["two far apart"], MIXTURES["five of one width"]):
        chosen = rng.integers(len(means), size=400_000)
        drawn = rng.normal(np.array(means)[chosen], np.array(stds)[chosen])
        samples.append(np.sort(drawn))
    expected = np.sqrt(np.mean((samples[0] - samples[1]) ** 2))
    one, other = of(*MIXTURES["two far apart"]), of(*MIXTURES["five of one width"])
    assert wasserstein2(one, other).item() == pytest.approx(expected, rel=0.005)


@pytest.mark.parametrize("mixture", MIXTURES.values(), ids=MIXTURES)
def test_the_tabulated_cdf_is_the_cdf(mixture):
    table = of(*mixture)
    expected = cdf(mixture, table.nodes[0].numpy())
    np.testing.assert_allclose(table.cdf[0].numpy(), expected, rtol=0, atol=1e-3)


def random_mixtures(draws, points=6):
    rng = torch.Generator().manual_seed(draws)
    means = 3 * torch.randn(draws, points, 1, generator=rng, dtype=torch.float64)
    return GaussianPredictive(means, torch.rand(means.shape, generator=rng).double() + 0.05)


ONE, OTHER = random_mixtures(3), random_mixtures(40)


def test_wasserstein_distance_is_a_metric():
    one, other, third = Tabulated(ONE), Tabulated(OTHER), Tabulated(random_mixtures(7))
    between = wasserstein2(one, other)
    torch.testing.assert_close(between, wasserstein2(other, one), rtol=1e-12, atol=0)
    assert (between <= wasserstein2(one, third) + wasserstein2(third, other)).all()
    assert (wasserstein2(one, one) == 0).all()
    assert (wasserstein2(one, twice(one)) < 1e-7).all()


def test_kl_is_0_from_itself_and_positive_else():
    one, other = Tabulated(ONE), Tabulated(OTHER)
    assert (kl_divergence(one, one) < 1e-12).all()
    assert (kl_divergence(twice(one), one) < 1e-12).all()
    assert (kl_divergence(one, other) > 0.01).all()


@pytest.mark.parametrize(("name", "factor"), [("wasserstein2", 250.0), ("kl_from_reference", 1.0)])
def test_units_of_the_target_scale_wasserstein_and_leave_kl(name, factor):
    metric = DISTANCES[name]
    plain = metric.score(Tabulated(ONE), Tabulated(OTHER))
    moved = [Tabulated(p.rescaled(-40.0, 250.0)) for p in (ONE, OTHER)]
    torch.testing.assert_close(metric.score(*moved), factor * plain, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", DISTANCES)
def test_each_point_is_scored_alone(name):
    whole = DISTANCES[name].score(Tabulated(ONE), Tabulated(OTHER))
    for k in range(len(ONE)):
        pair = [
            Tabulated(GaussianPredictive(p.means[:, k : k + 1], p.variances[:, k : k + 1]))
            for p in (ONE, OTHER)
        ]
        assert value(DISTANCES[name], *pair) == pytest.approx(whole[k].item(), rel=1e-9)


def test_points_that_do_not_fit_in_one_chunk_are_scored_alike(monkeypatch):
    plain = wasserstein2(Tabulated(ONE), Tabulated(OTHER))
    monkeypatch.setattr("bnnbench.metrics.distances.CHUNK_VALUES", 40)
    monkeypatch.setattr("bnnbench.metrics.distances.POINTS_AT_ONCE", 4)
    chunked = wasserstein2(Tabulated(ONE), Tabulated(OTHER))
    torch.testing.assert_close(chunked, plain, rtol=1e-12, atol=0)


def test_components_narrower_than_a_step_move_the_distance_by_no_more_than_a_step():
    narrow = (
        [-3.0, -1.0, 2.0, 5.0],
        [1e-5] * 4,
    )  # W2 of two sets of atoms, by sorting and matching
    table, other = of(*narrow), of([-2.0, -1.5, 2.5, 3.0], [1e-5] * 4)
    expected = math.sqrt(np.mean([1.0, 0.25, 0.25, 4.0]))
    assert wasserstein2(table, other).item() == pytest.approx(expected, abs=table.step.item())
    assert table.step.item() == pytest.approx(8 / (NODES - 1 - 2 * REACH), rel=1e-3)


def test_a_point_mass_has_the_distance_of_its_limit_and_an_infinite_kl():
    mass = of([1.0, 1.0], [0.0, 0.0])
    other = of(*MIXTURES["five of one width"])
    mean, variance = other.prediction.mean.item(), other.prediction.variance.item()
    expected = math.sqrt((mean - 1) ** 2 + variance)
    assert wasserstein2(mass, other).item() == pytest.approx(expected, rel=1e-5)
    assert kl_divergence(mass, other).item() == math.inf


def test_a_far_and_narrow_prediction_has_a_large_finite_kl():
    kl = kl_divergence(twice(of([300.0], [0.5])), twice(of([0.0], [1.0]))).item()
    assert kl == pytest.approx(math.log(0.5) + (1 + 300**2) / 0.5 - 0.5, rel=1e-9)


def test_the_grid_spans_every_component():
    low, high = of(*MIXTURES["broad and narrow"]).ends
    assert -3.2 * REACH < low.item() <= -3 * REACH
    assert 3 * REACH <= high.item() < 3.2 * REACH


def test_float32_draws_are_compared_in_float64():
    single = GaussianPredictive(ONE.means.float(), ONE.variances.float())
    exact = replace(ONE, means=single.means.double(), variances=single.variances.double())
    tables = Tabulated(single), Tabulated(exact)
    for metric in DISTANCES.values():
        scores = [metric.score(table, Tabulated(OTHER)) for table in tables]
        assert scores[0].dtype == torch.float64
        torch.testing.assert_close(*scores, rtol=1e-5, atol=1e-6)


def test_several_outputs_and_other_points_are_refused():
    with pytest.raises(ValueError, match="one output; got 2"):
        Tabulated(GaussianPredictive(torch.zeros(1, 3, 2), torch.ones(1, 3, 2)))
    for distance in (wasserstein2, kl_divergence):
        with pytest.raises(ValueError, match="got 6 predictions; the reference has 1"):
            distance(Tabulated(ONE), of(*GAUSSIAN))
