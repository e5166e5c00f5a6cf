"""The rungs, compared with those of another program, closed forms and quadrature."""

import functools

import numpy as np
import pytest
import torch
from torch.quasirandom import SobolEngine

from bnnbench.datasets.generated.bend import Bend
from bnnbench.methods.approximation_levels.approximations import (
    Drawn,
    Gaussians,
    Propagated,
    independent,
    network_of,
    within_units,
    without_covariances,
)
from bnnbench.methods.approximation_levels.importance import LEAST_SAMPLE, exact
from bnnbench.methods.approximation_levels.levels import ExactForm, Package, RowMessages
from bnnbench.methods.approximation_levels.messages import (
    Rows,
    Rules,
    bent,
    message,
    moments,
    product,
)
from bnnbench.methods.approximation_levels.row_sites import Row, row_sites, tilted
from bnnbench.methods.approximation_levels.two_units import PARAMETERS, two_units
from bnnbench.methods.approximation_levels.variational import nearest
from bnnbench.methods.base import InferenceDiverged, Problem, Unsupported
from bnnbench.methods.networks.architectures import LeakyReLU, Linear
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.suites.message_ladder.approximation_levels import PUBLISHED
from tests.methods.approximation_levels.models import (
    EXACT_STDS,
    PRINTED,
    TEST,
    WEIGHT_STDS,
    linear,
    printed,
)
from tests.methods.message_passing.oracle_factors import leaky_relu_marginals
from tests.methods.problems import stream

PUBLISHED_RULES = Rules("marginal", floors=True)


@functools.cache
def posterior(draw):
    """Return a model and its posterior."""
    model = printed(draw)
    return model, exact(model, 2_000_000, stream(draw))


@pytest.fixture(params=(0, 1))
def known(request):
    """Return a draw, its model and its posterior."""
    return request.param, *posterior(request.param)


def approximation_of(rung, model, found):
    match rung:
        case "1a":
            return Gaussians((without_covariances(found.whole),))
        case "1c":
            return Gaussians((found.whole,))
        case "1d":
            return Gaussians((within_units(found.whole),))
        case "2":
            mean, variance = row_sites(model, 60, 0.5)
        case _:
            rules = {
                "3": Rules("cavity", floors=False),
                "4": Rules("cavity", floors=True),
                "5": PUBLISHED_RULES,
            }
            mean, variance = Rows(model, rules[rung]).after(60)
    return independent(torch.from_numpy(mean), torch.from_numpy(variance))


def scores(found, known, noise_variance):
    """Return deviation and divergence inside, and the divergence everywhere."""
    (mean, variance), (exact_mean, exact_variance) = found, known
    inside = TEST.abs() <= 1
    q, p = variance + noise_variance, exact_variance + noise_variance
    kl = (p / q + (mean - exact_mean) ** 2 / q - 1 + (q / p).log()) / 2
    return [float(v) for v in (variance[inside].sqrt().mean(), kl[inside].mean(), kl.mean())]


@pytest.mark.long
@pytest.mark.parametrize(
    ("known", "rung"),
    [(draw, rung) for rung, draws in PRINTED.items() for draw in (0, 1) if draws[draw]],
    indirect=["known"],
)
def test_a_rung_agrees_with_another_program(known, rung):
    draw, model, found = known
    approximation = approximation_of(rung, model, found)
    of_truth = Drawn(found).function(model, TEST, stream(0))
    here = scores(approximation.function(model, TEST, stream(1)), of_truth, model.noise_variance)
    # The moments behind rungs 1 come from some 200,000 effective draws in both programs, so that a
    # function's deviation has an error of half a percent. Fixed points have none.
    tolerance = 0.005 if rung.startswith("1") else 0.003
    np.testing.assert_allclose(here, PRINTED[rung][draw], rtol=0, atol=tolerance)
    if draw == 0 and rung in WEIGHT_STDS:
        np.testing.assert_allclose(approximation.stds, WEIGHT_STDS[rung], rtol=0, atol=0.0015)


@pytest.mark.long
def test_the_exact_posterior_agrees_with_another_program(known):
    draw, model, found = known
    _, variance = Drawn(found).function(model, TEST, stream(0))
    assert float(variance[TEST.abs() <= 1].sqrt().mean()) == pytest.approx(
        EXACT_STDS[draw], abs=0.0015
    )
    if draw == 0:
        np.testing.assert_allclose(Drawn(found).stds, WEIGHT_STDS["0"], rtol=0, atol=0.006)
    assert sum(mode.mass for mode in found.modes) == pytest.approx(1)
    of_modes = Gaussians(found.modes).stds
    torch.testing.assert_close(of_modes, Drawn(found).stds, rtol=1e-9, atol=0)


def test_importance_sampling_of_a_linear_model_is_linear_regression():
    model, mean, covariance = linear()
    found = exact(model, 2_000_000, stream(0))
    torch.testing.assert_close(found.whole.mean, mean, rtol=0, atol=0.006)
    torch.testing.assert_close(found.whole.covariance, covariance, rtol=0, atol=0.01)


def test_too_few_draws_are_no_posterior():
    with pytest.raises(InferenceDiverged, match=f"needed {LEAST_SAMPLE}"):
        exact(printed(0), 100_000, stream(0))


def test_tilted_moments_of_a_row_agree_with_weighted_points():
    """QMC: a million Sobol points from the cavity, weighted by the row's likelihood."""
    mean = np.array([0.7, -0.4, 0.2, -0.1, 0.5, -0.8, 0.1])
    variance = np.array([1.2, 0.5, 0.4, 0.3, 0.6, 0.9, 0.2])
    row = Row(x=0.6, y=1.1, noise_variance=0.16, slope=0.1)
    uniform = SobolEngine(PARAMETERS, scramble=True, seed=1).draw(2**20, dtype=torch.float64)
    points = torch.special.ndtri(uniform.clamp(1e-12, 1 - 1e-12)).numpy() * variance**0.5 + mean
    z = points[:, :2] * row.x + points[:, 2:4]
    f = (points[:, 4:6] * np.where(z > 0, z, row.slope * z)).sum(1) + points[:, 6]
    weights = np.exp(-((row.y - f) ** 2) / (2 * row.noise_variance))
    weights /= weights.sum()
    expected = weights @ points
    found = tilted(row, mean, variance)
    np.testing.assert_allclose(found[0], expected, rtol=0, atol=1e-3)
    np.testing.assert_allclose(found[1], weights @ (points - expected) ** 2, rtol=0, atol=1e-3)


@pytest.mark.parametrize(("tau", "rho"), [(2.0, 4.0), (-2.0, 1.5), (0.5, 0.01), (-40.0, 30.0)])
def test_moments_of_leaky_relu_agree_with_the_closed_form(tau, rho):
    z = message(np.array([0.3, -1.5]), np.array([0.8, 2.0]))
    a = np.array([[tau, tau], [rho, rho]])
    found, expected = bent(z, a, 0.1), leaky_relu_marginals(z, a, 0.1)
    np.testing.assert_allclose(found.pre_activation, expected.z, rtol=1e-8)
    np.testing.assert_allclose(found.activation, expected.a, rtol=1e-8)
    np.testing.assert_allclose(found.log_mass, expected.log_m0, rtol=1e-8)


def test_messages_of_a_product_agree_with_a_grid():
    a, v = message(np.array([0.6]), np.array([0.5])), message(np.array([-0.4]), np.array([0.9]))
    term = np.array([[1.3], [2.0]])
    x, y = np.meshgrid(np.linspace(-7, 8, 3001), np.linspace(-9, 8, 3001), indexing="ij")
    density = np.exp(
        -((x - 0.6) ** 2) / 1.0 - (y + 0.4) ** 2 / 1.8 + 1.3 * x * y - 1.0 * (x * y) ** 2
    )
    density /= density.sum()
    for values, sent, before in zip((x, y), product(a, v, term), (a, v), strict=True):
        mean = (density * values).sum()
        variance = (density * (values - mean) ** 2).sum()
        after = moments(before + sent)
        np.testing.assert_allclose([after[0][0], after[1][0]], [mean, variance], rtol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("fold", range(4))
def test_the_last_rung_is_the_package(fold):
    data = Bend().load(fold)
    problem = Problem(data.train, data.likelihood, network_of(0.1))
    package = Package(PUBLISHED).fit(problem, stream(fold))
    rewritten = RowMessages().fit(problem, stream(fold))
    found, expected = rewritten.approximation.stds, package.approximation.stds
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=0)
    assert isinstance(rewritten.approximation, Gaussians)
    (part,) = rewritten.approximation.parts
    x = data.test.inputs[:, 0]
    propagated = Propagated(part.mean, part.covariance.diagonal())
    pairs = zip(
        propagated.function(rewritten.model, x, stream(0)),
        package.approximation.function(package.model, x, stream(0)),
        strict=True,
    )
    for own, other in pairs:
        torch.testing.assert_close(own, other, rtol=1e-6, atol=1e-7)
    plain = PUBLISHED.fit(problem, stream(fold))
    own, other = (p.predict(data.test.inputs, stream(0)) for p in (package, plain))
    assert isinstance(own, GaussianPredictive)
    assert isinstance(other, GaussianPredictive)
    torch.testing.assert_close(own.mean, other.mean)
    torch.testing.assert_close(own.variance, other.variance)


def test_the_prior_is_spectral_and_equal_for_all_rungs_of_a_stream():
    data = Bend().load(0)
    problem = Problem(data.train, data.likelihood, network_of(0.1))
    models = [two_units(problem, stream(3)) for _ in range(2)]
    torch.testing.assert_close(models[0].prior_mean, models[1].prior_mean)
    expected = torch.tensor((1.5, 1.5, 0.5, 0.5, 0.6447, 0.6447, 0.5), dtype=torch.float64)
    torch.testing.assert_close(models[0].prior_variance, expected, rtol=1e-4, atol=0)
    assert models[0].prior_mean[[2, 3, 6]].eq(0).all()


def test_the_nearest_gaussian_to_a_gaussian_is_itself():
    model, mean, covariance = linear()
    found = nearest(model, model.prior_mean, model.prior_variance, "all")
    torch.testing.assert_close(found.mean, mean, rtol=0, atol=2e-3)
    torch.testing.assert_close(found.covariance, covariance, rtol=0, atol=3e-3)


def test_the_nearest_independent_gaussian_has_the_conditional_variances_of_a_gaussian():
    """Bishop (2006), section 10.1.2: the inverse of the diagonal of the precision."""
    model, mean, covariance = linear()
    found = nearest(model, model.prior_mean, model.prior_variance, "none")
    conditional = 1 / torch.linalg.inv(covariance).diagonal()
    torch.testing.assert_close(found.mean, mean, rtol=0, atol=2e-3)
    torch.testing.assert_close(found.covariance, conditional.diag(), rtol=2e-3, atol=1e-12)
    by_unit = nearest(model, model.prior_mean, model.prior_variance, "units")
    assert by_unit.covariance[0, 2] != 0
    assert by_unit.covariance[0, 1] == 0


def test_another_network_is_refused():
    data = Bend().load(0)
    three = (Linear(3), LeakyReLU(0.1), Linear(1))
    with pytest.raises(Unsupported, match="needed Linear"):
        ExactForm().fit(Problem(data.train, data.likelihood, three), stream(0))
