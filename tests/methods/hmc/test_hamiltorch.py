"""Our HMC and hamiltorch's, if it is installed, on one posterior."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.methods.base import PackageMissing, Problem
from bnnbench.methods.hmc.convergence import effective_sample_size
from bnnbench.methods.hmc.hamiltorch import (
    HmcHamiltorch,
    import_hamiltorch,
    seeded_and_quiet,
)
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.networks.architectures import Tanh
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.suites.check.fits import global_generators
from tests.methods.problems import regression, stream


@pytest.fixture
def _hamiltorch():
    try:
        with seeded_and_quiet(stream(0)):
            import_hamiltorch()
    except PackageMissing as missing:
        pytest.skip(str(missing))


@pytest.mark.usefixtures("_hamiltorch")
def test_both_have_the_predictive_moments_of_one_posterior():
    inputs = torch.tensor([[-1.5], [-0.8], [0.1], [0.4], [1.3], [2.0]], dtype=torch.float64)
    problem = Problem(
        Split(inputs, torch.sin(2 * inputs)), Gaussian(0.3), mlp([5], 1, activation=Tanh())
    )
    grid = torch.linspace(-2.5, 2.5, 7, dtype=torch.float64)[:, None]
    ours = Hmc(draws=4000, thinning=1, warmup=300, prior_precision=1.0)
    theirs = HmcHamiltorch(
        draws=1600, warmup=100, leapfrog_steps=12, step_size=0.1, prior_precision=1.0
    )
    posteriors = ours.fit(problem, stream(0)), theirs.fit(problem, stream(1))
    for posterior in posteriors:
        assert posterior.diagnostics["r_hat"] < 1.05
        assert posterior.diagnostics["noise_std"] == pytest.approx(0.3)
    one, other = (
        posterior.predict(grid, stream(2)).means[..., 0].view(4, -1, 7).numpy()
        for posterior in posteriors
    )
    centre = one.mean((0, 1))
    for function in (lambda f: f, lambda f: (f - centre) ** 2):
        draws = function(one), function(other)
        error = sum(v.var((0, 1)) / effective_sample_size(v) for v in draws) ** 0.5
        assert (np.abs(draws[0].mean((0, 1)) - draws[1].mean((0, 1))) / error).max() < 4.5


@pytest.mark.usefixtures("_hamiltorch")
def test_global_generators_and_standard_output_are_left_alone(capsys):
    before = global_generators()
    method = HmcHamiltorch(draws=8, warmup=3, leapfrog_steps=2)
    problem = regression()
    one, other = (method.fit(problem, stream(0)) for _ in range(2))
    assert global_generators() == before
    assert torch.equal(one.states, other.states)
    assert not torch.equal(one.states, method.fit(problem, stream(1)).states)
    assert capsys.readouterr().out == ""


def test_without_the_package_the_error_names_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "hamiltorch", None)
    with pytest.raises(PackageMissing, match=r"pip install .*AdamCobb/hamiltorch"):
        HmcHamiltorch().fit(regression(), stream(0))


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="multiple of chains"):
        replace(HmcHamiltorch(), draws=7)
