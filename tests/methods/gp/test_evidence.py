"""The marginal likelihood of a Gaussian process and its gradient, beside scikit-learn's own."""

from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp_kernels

from bnnbench.methods.gp.evidence import CORRELATIONS, evidence
from bnnbench.methods.gp.exact import Regressor

kernels: Any = gp_kernels
LENGTHS = np.array([0.7, 1.9, 40.0])
KERNELS = {
    "rbf": kernels.RBF(LENGTHS),
    "matern32": kernels.Matern(LENGTHS, nu=1.5),
    "matern52": kernels.Matern(LENGTHS, nu=2.5),
}


def rows():
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(40, 3))
    inputs[7] = inputs[3]
    return inputs, np.sin(inputs[:, 0]) + 0.1 * rng.normal(size=40)


@pytest.mark.parametrize("noise_bounds", [(1e-6, 1e1), "fixed"])
@pytest.mark.parametrize("name", CORRELATIONS)
def test_value_and_gradient_are_those_of_scikit_learn(name, noise_bounds):
    inputs, targets = rows()
    kernel = kernels.ConstantKernel(1.3) * KERNELS[name]
    kernel = kernel + kernels.WhiteKernel(0.02, noise_bounds)
    theirs = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(inputs, targets)
    ours = Regressor(kernel, alpha=0.0, optimizer=None).fit(inputs, targets)
    value, gradient = theirs.log_marginal_likelihood(kernel.theta, eval_gradient=True)
    found, slope = ours.log_marginal_likelihood(kernel.theta, eval_gradient=True)
    assert found == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(slope, gradient, rtol=1e-10, atol=1e-10)


def test_covariances_that_are_not_positive_definite_have_no_likelihood():
    inputs, targets = rows()
    value, gradient = evidence(CORRELATIONS["rbf"], inputs, targets, 1.0, LENGTHS, 0.0)
    assert value == -np.inf
    assert not gradient.any()
