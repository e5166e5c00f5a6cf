"""The leave-one-out choice against fits without the rows, where marginal likelihood fails."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.gp.exact import ExactGpPosterior, GaussianProcess
from bnnbench.methods.gp.leave_one_out import (
    LeaveOneOutGp,
    left_out_log_density,
    rows_of_equal_inputs,
)
from tests.methods.problems import stream


def noisy(rows=40, repeats=0, seed=0):
    """Return a noisy curve whose first rows are repeated, with their targets."""
    rng = stream(seed)
    inputs = torch.randn(rows, 2, generator=rng)
    targets = (2 * inputs[:, :1]).sin() + 0.5 * torch.randn(rows, 1, generator=rng)
    again = torch.cat([torch.arange(rows), torch.arange(repeats)])
    return Problem(Split(inputs[again], targets[again]), Gaussian(), ())


def fitted(method, problem, seed):
    posterior = method.fit(problem, stream(seed))
    assert isinstance(posterior, ExactGpPosterior)
    return posterior


def test_densities_agree_with_conditioning_on_the_other_rows():
    problem = noisy(rows=15, repeats=4)
    posterior = fitted(GaussianProcess(kernels=("matern52",), restarts=0), problem, 1)
    x, y = problem.train.inputs.double().numpy(), problem.train.targets[:, 0].double().numpy()
    signal, noise = posterior.process.kernel_, posterior.noise_variance
    expected = []
    for row in range(len(x)):
        others = (x != x[row]).any(1)
        kernel = signal(x[others]) + noise * np.eye(others.sum())
        gains = np.linalg.solve(kernel, signal(x[others], x[[row]]))
        mean = gains[:, 0] @ y[others]
        variance = signal(x[[row]])[0, 0] + noise - (gains * signal(x[others], x[[row]])).sum()
        expected.append(stats.norm.logpdf(y[row], mean, variance**0.5))
    groups = rows_of_equal_inputs(problem.train.inputs)
    assert left_out_log_density(posterior, groups) == pytest.approx(np.mean(expected), rel=1e-6)


def test_every_row_is_in_one_group_with_its_equals():
    inputs = torch.tensor([[0.0, 1], [2, 3], [0, 1], [4, 5], [0, 1], [4, 5.5]])
    groups = [rows.tolist() for rows in rows_of_equal_inputs(inputs)]
    assert sorted(group for of_one_size in groups for group in of_one_size) == [
        [0, 2, 4],
        [1],
        [3],
        [5],
    ]


def test_rows_that_repeat_do_not_end_in_a_process_without_noise():
    problem, new = noisy(rows=60, repeats=50), noisy(rows=400, seed=9).train
    process = GaussianProcess(restarts=5)
    marginal, left_out = (fitted(m, problem, 3) for m in (process, LeaveOneOutGp(process)))
    assert marginal.diagnostics["noise_std"] < 0.01
    assert left_out.diagnostics["noise_std"] == pytest.approx(0.5, rel=0.4)
    sure, unsure = (
        float(posterior.predict(new.inputs, stream(0)).log_prob(new.targets).mean())
        for posterior in (marginal, left_out)
    )
    assert unsure > sure + 0.3


def test_the_candidate_of_most_left_out_density_is_chosen():
    rng = stream(5)
    inputs = torch.rand(80, 1, generator=rng) * 4
    rough = Problem(Split(inputs, (3 * inputs).sin().abs()), Gaussian(), ())
    groups = rows_of_equal_inputs(inputs)
    process = GaussianProcess(kernels=("rbf", "matern32"), restarts=0)
    alone = [
        left_out_log_density(fitted(replace(process, kernels=(name,)), rough, 0), groups)
        for name in process.kernels
    ]
    chosen = fitted(LeaveOneOutGp(process), rough, 0).diagnostics
    assert chosen["kernel"] == np.argmax(alone)
    assert chosen["left_out_log_likelihood"] == pytest.approx(max(alone))


def test_too_many_rows_are_refused():
    with pytest.raises(Unsupported, match="at most 30 rows"):
        LeaveOneOutGp(GaussianProcess(most_rows=30)).fit(noisy(), stream(0))
