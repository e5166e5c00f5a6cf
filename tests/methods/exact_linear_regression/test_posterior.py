"""The conjugate posterior, against rational arithmetic, quadrature and sampling."""

import math
from fractions import Fraction

import pytest
import torch
from scipy import integrate

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.methods.base import Method, Posterior, Problem, Unsupported
from bnnbench.methods.exact_linear_regression.method import ExactLinear
from bnnbench.methods.exact_linear_regression.posterior import exact_posterior
from bnnbench.methods.networks.architectures import Linear
from tests.methods.problems import classification, regression, stream

LINEAR = (Linear(1, bias=False),)
ROWS, TARGETS = ((1, 2), (3, -1), (0, 4)), (2, 1, -3)
NOISE, PRIOR = Fraction(1, 2), Fraction(3)


def problem(dtype: torch.dtype = torch.float64) -> Problem:
    inputs = torch.tensor(ROWS, dtype=dtype)
    targets = torch.tensor(TARGETS, dtype=dtype)[:, None]
    return Problem(Split(inputs, targets), Gaussian(float(NOISE)), LINEAR)


def real(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def by_fractions() -> tuple[list[Fraction], list[list[Fraction]]]:
    """Return mean and covariance from the normal equations of two unknowns."""
    a, b, d = (
        sum(Fraction(r[i] * r[j]) for r in ROWS) / NOISE**2 + (i == j) / PRIOR**2
        for i, j in ((0, 0), (0, 1), (1, 1))
    )
    p, q = (sum(Fraction(r[i] * y) for r, y in zip(ROWS, TARGETS, strict=True)) / NOISE**2
            for i in (0, 1))  # fmt: skip
    det = a * d - b * b
    return [(d * p - b * q) / det, (a * q - b * p) / det], [
        [d / det, -b / det],
        [-b / det, a / det],
    ]


def test_mean_and_covariance_agree_with_the_normal_equations():
    mean, covariance = by_fractions()
    found = exact_posterior(problem(), float(PRIOR))
    assert found.mean.tolist() == pytest.approx([float(m) for m in mean], rel=1e-13)
    for row, wanted in zip(found.covariance.tolist(), covariance, strict=True):
        assert row == pytest.approx([float(c) for c in wanted], rel=1e-12)


def test_the_predictive_is_the_integral_over_the_weights():
    """For one feature, by adaptive quadrature over prior and likelihood."""
    x, y, noise, prior = [0.5, -1.2, 2.0], [0.7, -0.3, 1.1], 0.8, 1.5
    train = Split(real(*x)[:, None], real(*y)[:, None])
    own = exact_posterior(Problem(train, Gaussian(noise), LINEAR), prior)

    def normal(z: float, std: float) -> float:
        return math.exp(-0.5 * (z / std) ** 2) / (std * math.sqrt(2 * math.pi))

    def joint(w: float) -> float:
        return normal(w, prior) * math.prod(
            normal(b - w * a, noise) for a, b in zip(x, y, strict=True)
        )

    def over(f) -> float:
        return integrate.quad(f, -12, 12, epsabs=1e-14, epsrel=1e-12, points=[0.0, 0.5])[0]

    evidence, at = over(joint), 1.7
    prediction = own.predict(real(at)[:, None], stream(0))
    for target in (-1.0, 0.6, 2.5):
        wanted = over(lambda w, t=target: joint(w) * normal(t - at * w, noise)) / evidence
        found = prediction.log_prob(real(target)[:, None]).exp()
        assert float(found) == pytest.approx(wanted, rel=1e-9)


def test_draws_have_the_mean_and_covariance_of_the_posterior():
    own = exact_posterior(problem(), float(PRIOR))
    drawn = own.draws(40_000, stream(1))
    whitened = (drawn - own.mean) @ own.precision_root
    # For 40,000 independent draws: 4.5 standard errors of a mean and of a (co)variance.
    assert float(whitened.mean(0).abs().max()) < 4.5 / 200
    assert float((torch.cov(whitened.T) - torch.eye(2)).abs().max()) < 4.5 * math.sqrt(2) / 200


def test_single_precision_data_lose_only_their_own_rounding():
    one, two = (exact_posterior(problem(t), float(PRIOR)) for t in (torch.float32, torch.float64))
    assert torch.equal(one.mean, two.mean)  # small integers are exact in both


def test_it_is_a_method():
    method = ExactLinear(prior_std=float(PRIOR))
    assert isinstance(method, Method)
    own = method.fit(problem(), stream(0))
    assert isinstance(own, Posterior)
    assert dict(own.diagnostics) == {}
    with pytest.raises(ValueError, match="prior_std"):
        ExactLinear(prior_std=0.0)


@pytest.mark.parametrize(
    ("other", "needed"),
    [
        (regression(noise_std=0.3), "needed a linear model"),
        (regression(architecture=LINEAR), "needed a regression with known noise"),
        (classification(architecture=LINEAR), "needed a regression with known noise"),
    ],
)
def test_other_problems_are_refused(other, needed):
    with pytest.raises(Unsupported, match=needed):
        exact_posterior(other, 1.0)
