"""The exact Gaussian process, by formulas, conjugate regression and its calibration."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.linalg import cho_factor, cho_solve

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.gp.exact import ExactGpPosterior, GaussianProcess
from bnnbench.methods.predictions.predictive import GaussianPredictive
from tests.methods.problems import classification, images, regression, stream


def curve(rows=60, noise=0.2, noise_std=None, seed=0):
    rng = stream(seed)
    inputs = torch.randn(rows, 2, generator=rng)
    targets = (2 * inputs[:, :1]).sin() + noise * torch.randn(rows, 1, generator=rng)
    return Problem(Split(inputs, targets), Gaussian(noise_std), ())


def fitted(problem, **settings):
    posterior = GaussianProcess(**settings).fit(problem, stream(1))
    assert isinstance(posterior, ExactGpPosterior)
    return posterior


def test_predictions_and_marginal_likelihood_agree_with_the_formulas():
    problem = curve()
    posterior = fitted(problem, kernels=("rbf",))
    scale, rbf = posterior.process.kernel_.k1.constant_value, posterior.process.kernel_.k2
    x, y = problem.train.inputs.double().numpy(), problem.train.targets[:, 0].double().numpy()
    new = np.random.default_rng(2).normal(size=(7, 2))

    def kernel(a, b):
        gaps = (a[:, None] - b[None]) / rbf.length_scale
        return scale * np.exp(-0.5 * (gaps**2).sum(-1))

    covariance = kernel(x, x) + posterior.noise_variance * np.eye(len(x))
    factor = cho_factor(covariance)
    means = kernel(new, x) @ cho_solve(factor, y)
    reduction = (kernel(new, x) * cho_solve(factor, kernel(x, new)).T).sum(1)
    prediction = posterior.predict(torch.tensor(new), stream(3))
    np.testing.assert_allclose(prediction.mean[:, 0], means, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        prediction.variance[:, 0], scale - reduction + posterior.noise_variance, rtol=1e-6
    )
    evidence = stats.multivariate_normal(np.zeros(len(x)), covariance).logpdf(y) / len(x)
    assert posterior.diagnostics["log_marginal_likelihood_per_row"] == pytest.approx(evidence)


def test_a_feature_without_influence_gets_a_long_scale_and_noise_is_found():
    posterior = fitted(curve(rows=300), kernels=("rbf",))
    used, unused = posterior.process.kernel_.k2.length_scale
    assert unused > 10 * used
    assert posterior.diagnostics["noise_std"] == pytest.approx(0.2, rel=0.15)


def test_a_known_noise_is_kept():
    assert fitted(curve(noise_std=0.5)).diagnostics["noise_std"] == pytest.approx(0.5)


@pytest.mark.long
def test_intervals_hold_their_share_of_functions_of_the_process():
    inside = []
    for seed in range(20):
        problem = curve(rows=80, seed=seed)
        new = curve(rows=80, seed=100 + seed).train
        prediction = fitted(problem).predict(new.inputs, stream(0))
        z = (new.targets - prediction.mean) / prediction.variance.sqrt()
        inside.append(float((z.abs() < 1.645).double().mean()))
    assert np.mean(inside) == pytest.approx(0.9, abs=0.04)


def test_the_likelier_kernel_is_chosen():
    rng = stream(5)
    inputs = torch.rand(120, 1, generator=rng) * 4
    rough = Problem(Split(inputs, (3 * inputs).sin().abs()), Gaussian(), ())
    evidence = {
        name: fitted(rough, kernels=(name,)).diagnostics["log_marginal_likelihood_per_row"]
        for name in ("rbf", "matern32")
    }
    both = fitted(rough, kernels=("rbf", "matern32"))
    assert both.diagnostics["kernel"] == max((0, 1), key=list(evidence.values()).__getitem__)
    assert evidence["matern32"] > evidence["rbf"]


def test_all_rows_predict_where_some_choose_the_kernel():
    problem = curve(rows=200)
    few, all_of_them = (fitted(problem, rows_for_kernel=n) for n in (30, 500))
    assert few.process.X_train_.shape == all_of_them.process.X_train_.shape == (200, 2)
    inputs = curve(rows=500, seed=9).train
    errors = [
        float((p.predict(inputs.inputs, stream(0)).mean - inputs.targets).square().mean())
        for p in (few, all_of_them)
    ]
    assert max(errors) < 1.3 * 0.2**2


def test_a_linear_truth_is_predicted_as_well_as_by_conjugate_regression():
    problem, new = regression(rows=60, seed=0), regression(rows=500, seed=1).train
    prediction = fitted(problem).predict(new.inputs, stream(0))
    assert isinstance(prediction, GaussianPredictive)
    rows, targets = problem.train.inputs.double(), problem.train.targets.double()
    weights = torch.linalg.lstsq(rows, targets).solution
    best = float((new.inputs.double() @ weights - new.targets).square().mean())
    assert float((prediction.mean - new.targets).square().mean()) < 1.1 * best


def test_what_it_does_not_cover_is_refused():
    for problem in (classification(), images(real=True)):
        with pytest.raises(Unsupported, match="needed"):
            GaussianProcess().fit(problem, stream(0))
    with pytest.raises(Unsupported, match="at most 50 rows"):
        GaussianProcess(most_rows=50).fit(curve(), stream(0))
    with pytest.raises(ValueError, match="kernels out of rbf"):
        GaussianProcess(kernels=("cosine",))


def test_large_sets_of_points_are_predicted_in_pieces():
    posterior = fitted(curve())
    points = torch.randn(2500, 2, generator=stream(4))
    whole = posterior.predict(points, stream(0)).mean
    torch.testing.assert_close(whole[2400:], posterior.predict(points[2400:], stream(0)).mean)
    assert math.isfinite(float(whole.sum()))
