"""Averages over draws and over their box, by quadrature, sampling and CIBER's own code."""

import math

import mpmath
import pytest
import torch
from scipy import integrate, optimize, special

from bnnbench.datasets.base import Gaussian
from bnnbench.methods.base import Method, Posterior
from bnnbench.methods.ciber.collapse import LastLayer, collapsed
from bnnbench.methods.ciber.samples import Samples
from bnnbench.methods.exact_linear_regression.integrals import (
    Collapsed,
    Integral,
    MomentMatched,
    MonteCarlo,
)
from bnnbench.methods.exact_linear_regression.method import LinearFromDraws
from bnnbench.methods.networks.architectures import Linear
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.exact_linear_regression.test_posterior import problem
from tests.methods.problems import stream

WEIGHTS = torch.randn(6, 4, generator=stream(0), dtype=torch.float64) * 0.7 + 0.3
INPUTS = torch.randn(3, 4, generator=stream(1), dtype=torch.float64)
NOISE = 0.6
INTEGRALS = (
    *(MonteCarlo(), MomentMatched(), Collapsed("minmax"), Collapsed("moment")),
    *(
        Collapsed("minmax", 2.45),
        Collapsed(axes="principal"),
        Collapsed("minmax", axes="principal"),
    ),
)
Y = torch.linspace(-3, 3, 7, dtype=torch.float64).expand(3, 7)


def box(bounds: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return lower and upper bounds, written out."""
    if bounds == "minmax":
        return WEIGHTS.min(0).values, WEIGHTS.max(0).values
    reach = math.sqrt(3) * WEIGHTS.std(0)
    return WEIGHTS.mean(0) - reach, WEIGHTS.mean(0) + reach


@pytest.mark.parametrize("integral", INTEGRALS, ids=str)
def test_the_density_on_a_grid_agrees_with_the_predictive(integral):
    assert isinstance(integral, Integral)
    prediction = integral.predictive(WEIGHTS, INPUTS, NOISE)
    found = integral.log_density(WEIGHTS, INPUTS, NOISE, Y)
    for k in range(7):
        torch.testing.assert_close(found[:, k], prediction.log_prob(Y[:, k, None]))


def test_monte_carlo_is_the_mean_of_the_likelihoods():
    found = MonteCarlo().log_density(WEIGHTS, INPUTS, NOISE, Y)
    for n in range(3):
        for k in range(7):
            errors = [float(Y[n, k] - w @ INPUTS[n]) / NOISE for w in WEIGHTS]
            each = [math.exp(-0.5 * e * e) / (NOISE * math.sqrt(2 * math.pi)) for e in errors]
            assert float(found[n, k]) == pytest.approx(math.log(sum(each) / 6), rel=1e-12)


@pytest.mark.parametrize("axes", ["weights", "principal"])
@pytest.mark.parametrize("bounds", ["minmax", "moment"])
def test_the_box_is_what_ciber_makes_of_a_network_of_one_layer(bounds, axes):
    network = TorchNetwork((Linear(1, bias=False),), (4,))
    own = Samples(network, Gaussian(NOISE), WEIGHTS, WEIGHTS[:, :0], NOISE**2,
                  bounds)  # fmt: skip
    wanted = collapsed(own, LastLayer(axes=axes), INPUTS, 2.45)
    found = Collapsed(bounds, 2.45, axes).predictive(WEIGHTS, INPUTS, NOISE)
    for k in range(7):
        target = Y[:, k, None]
        torch.testing.assert_close(found.log_prob(target), wanted.log_prob(target))
    torch.testing.assert_close(found.mean, wanted.mean)
    torch.testing.assert_close(found.variance, wanted.variance)


def averages_agree(integral: Collapsed, weights: torch.Tensor) -> None:
    """Compare an integral's averages with those over draws from its box."""
    f = weights @ INPUTS.T
    step = (f / 3.522769163721558).clamp(-1, 1)
    r = math.sqrt(6) * NOISE
    density = integral.log_density(WEIGHTS, INPUTS, NOISE, Y).exp()
    for found, drawn in (
        (integral.logistic(WEIGHTS, INPUTS), f.sigmoid()),
        (integral.cubic(WEIGHTS, INPUTS), 0.5 + 0.75 * step - 0.25 * step**3),
        (density[:, 3], (1 / r - (Y[:, 3] - f).abs() / r**2).clamp(min=0)),
    ):
        error = drawn.std(0) / math.sqrt(len(f))
        assert ((drawn.mean(0) - found).abs() < 4.5 * error).all()


UNIT = torch.rand(200_000, 4, generator=stream(2), dtype=torch.float64)


@pytest.mark.parametrize("bounds", ["minmax", "moment"])
def test_box_averages_agree_with_weights_drawn_from_it(bounds):
    lower, upper = box(bounds)
    averages_agree(Collapsed(bounds), lower + UNIT * (upper - lower))


def test_rotated_box_averages_agree_with_weights_drawn_from_it():
    """Directions of the covariance, which has full rank here."""
    values, vectors = torch.linalg.eigh(WEIGHTS.T.cov())
    z = (2 * UNIT - 1) * (3 * values).sqrt()
    averages_agree(Collapsed(axes="principal"), WEIGHTS.mean(0) + z @ vectors.T)


def test_the_matched_gaussian_has_the_moments_of_the_draws():
    values = WEIGHTS @ INPUTS.T
    prediction = MomentMatched().predictive(WEIGHTS, INPUTS, NOISE)
    torch.testing.assert_close(prediction.mean[:, 0], values.mean(0))
    torch.testing.assert_close(prediction.variance[:, 0], values.var(0) + NOISE**2)
    normal = values.mean(0) + values.std(0) * torch.randn(
        200_000, 3, generator=stream(5), dtype=torch.float64
    )
    each = normal.sigmoid()
    error = each.std(0) / math.sqrt(len(each))
    found = MomentMatched().logistic(WEIGHTS, INPUTS)
    assert ((each.mean(0) - found).abs() < 4.5 * error).all()


@pytest.mark.parametrize("reach", [0.01, 1.0, 8.0, 60.0])
def test_the_mean_logistic_of_one_weight_is_a_difference_of_softplus(reach):
    weights = torch.tensor([[0.4 - reach], [0.4 + reach]], dtype=torch.float64)
    with mpmath.workdps(30):
        low, high = mpmath.mpf(0.4) - reach, mpmath.mpf(0.4) + reach
        wanted = (mpmath.log1p(mpmath.exp(high)) - mpmath.log1p(mpmath.exp(low))) / (high - low)
    found = Collapsed("minmax").logistic(weights, torch.ones(1, 1, dtype=torch.float64))
    assert float(found) == pytest.approx(float(wanted), rel=1e-9)


@pytest.mark.parametrize("scale", [0.5, 3.0, 15.0])
def test_the_mean_logistic_of_two_weights_is_a_double_integral(scale):
    weights = scale * torch.tensor([[-0.2, 0.1], [0.9, 0.7]], dtype=torch.float64)
    x = torch.tensor([[1.0, -0.6]], dtype=torch.float64)
    (a, b), (c, d) = weights.tolist()
    total, _ = integrate.dblquad(
        lambda v, u: special.expit(u - 0.6 * v), a, c, b, d, epsabs=1e-12, epsrel=1e-11
    )
    found = Collapsed("minmax").logistic(weights, x)
    assert float(found) == pytest.approx(total / ((c - a) * (d - b)), rel=1e-7)


MEAN_LOGISTIC, SPREAD = 0.823, 2.0
DRAWS, REPEATS = 5, 400


def test_of_five_draws_the_box_has_the_mean_logistic_of_paper_002_closer_than_monte_carlo():
    """Section 4.3 prints the value; features, posterior and draws are ours."""

    def exact(mean: float) -> float:
        return integrate.quad(
            lambda z: special.expit(mean + SPREAD * z) * math.exp(-z * z / 2), -12, 12
        )[0] / math.sqrt(2 * math.pi)

    mean = optimize.brentq(lambda m: exact(m) - MEAN_LOGISTIC, 0, 6)
    rng = stream(3)
    x = torch.randn(1, 10, generator=rng, dtype=torch.float64)
    # Weights with a common variance, such that their sum has the mean and the spread.
    centre, std = x[0] * mean / x.square().sum(), SPREAD / x.square().sum().sqrt()
    errors: dict[str, list[float]] = {"box": [], "cubic": [], "draws": []}
    for _ in range(REPEATS):
        drawn = centre + std * torch.randn(DRAWS, 10, generator=rng, dtype=torch.float64)
        for name, found in (
            ("box", Collapsed().logistic(drawn, x)),
            ("cubic", Collapsed().cubic(drawn, x)),
            ("draws", MonteCarlo().logistic(drawn, x)),
        ):
            errors[name].append(abs(float(found) - MEAN_LOGISTIC))
    means = {name: sum(values) / REPEATS for name, values in errors.items()}
    # Both know the mean of f only to SPREAD / √5; the box smooths the rest.
    assert means["box"] < means["draws"]
    assert means["cubic"] == pytest.approx(means["box"], rel=0.1)


def test_a_method_predicts_by_draws_of_the_stream():
    for integral in (MonteCarlo(), Collapsed()):
        method = LinearFromDraws(integral, draws=7)
        assert isinstance(method, Method)
        own = method.fit(problem(), stream(0))
        assert isinstance(own, Posterior)
        assert own.diagnostics == {"draws": 7.0}
        inputs = problem().train.inputs
        wanted = integral.predictive(own.exact.draws(7, stream(4)), inputs, 0.5)
        assert torch.equal(own.predict(inputs, stream(4)).mean, wanted.mean)


def test_settings_that_mean_nothing_are_refused():
    with pytest.raises(ValueError, match="draws"):
        LinearFromDraws(Collapsed(), draws=1)  # one draw spans no box
    with pytest.raises(ValueError, match="ratio"):
        Collapsed(ratio=0.0)
