"""The prior of smallest penalty, by numerical minimisation and torch's distributions."""

import pytest
import torch
from scipy.optimize import minimize_scalar
from scipy.stats import invgamma
from torch.distributions import Normal, kl_divergence

from bnnbench.methods.dvi.prior import InverseGamma, LayerwisePrior
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import stream

NETWORK = TorchNetwork(mlp([3], outputs=1), (4,))
LAYERS = slice(0, 15), slice(15, 19)


def weights():
    rng = stream(0)
    mean = torch.randn(2, NETWORK.parameter_count, generator=rng, dtype=torch.float64)
    return mean, torch.rand(mean.shape, generator=rng, dtype=torch.float64) + 0.01


def penalty(mean, std, variance, hyperprior):
    kl = kl_divergence(Normal(mean, std), Normal(torch.zeros_like(mean), variance**0.5)).sum()
    return float(kl) - invgamma.logpdf(variance, hyperprior.shape, scale=hyperprior.rate)


@pytest.mark.parametrize("hyperprior", [InverseGamma(), InverseGamma(4.5, 10.0)])
def test_prior_variances_and_the_penalty_agree_with_a_numerical_minimum(hyperprior):
    prior = LayerwisePrior.of(NETWORK.parameters, hyperprior)
    mean, std = weights()
    found = prior.variances(mean, std)
    for member in range(2):
        least = 0.0
        for number, layer in enumerate(LAYERS):
            own = mean[member, layer], std[member, layer]
            best = minimize_scalar(
                lambda s, own=own: penalty(*own, s, hyperprior),
                bounds=(1e-3, 50),
                method="bounded",
                options={"xatol": 1e-9},
            )
            assert float(found[member, number]) == pytest.approx(best.x, rel=1e-5)
            least += best.fun
        assert float(prior.penalty(mean, std)[member]) == pytest.approx(least, rel=1e-9)


def test_the_kl_agrees_with_independent_gaussians_under_each_layers_prior():
    prior = LayerwisePrior.of(NETWORK.parameters, InverseGamma())
    mean, std = weights()
    stds = prior.variances(mean, std).sqrt()
    widths = torch.cat([stds[:, :1].expand(-1, 15), stds[:, 1:].expand(-1, 4)], 1)
    expected = kl_divergence(Normal(mean, std), Normal(torch.zeros_like(mean), widths)).sum(1)
    torch.testing.assert_close(prior.kl(mean, std), expected, rtol=1e-12, atol=0)


def test_the_gradient_of_the_penalty_agrees_with_finite_differences():
    prior = LayerwisePrior.of(NETWORK.parameters, InverseGamma(2.0, 0.5))
    mean, std = weights()
    mean.requires_grad_()
    std.requires_grad_()
    assert torch.autograd.gradcheck(lambda m, s: prior.penalty(m, s).sum(), (mean, std))


@pytest.mark.parametrize("wrong", [{"shape": 0.0}, {"rate": -1.0}])
def test_a_hyperprior_without_density_is_refused(wrong):
    with pytest.raises(ValueError, match="positive"):
        InverseGamma(**wrong)
