"""CIBER on a sampler's draws, compared with the sampler itself."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from bnnbench.methods.base import Method, Unsupported
from bnnbench.methods.ciber.collapse import SecondLayer
from bnnbench.methods.ciber.from_draws import CiberOfHmc
from bnnbench.methods.ciber.posterior import CollapsedPosterior
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.hmc.posterior import HmcPosterior
from bnnbench.methods.networks.architectures import Linear, ReLU
from tests.methods.problems import classification, regression, stream

SAMPLER = Hmc(draws=4, chains=2, warmup=30, thinning=5, leapfrog_steps=10)
PROBLEM = regression(architecture=(Linear(3), ReLU(), Linear(1)), dtype=torch.float64)
INPUTS = PROBLEM.train.inputs[:4]


def fitted(**changes) -> CollapsedPosterior:
    posterior = CiberOfHmc(SAMPLER, **changes).fit(PROBLEM, stream(1))
    assert isinstance(posterior, CollapsedPosterior)
    return posterior


def draws() -> HmcPosterior:
    posterior = SAMPLER.fit(PROBLEM, stream(1))
    assert isinstance(posterior, HmcPosterior)
    return posterior


def test_without_a_box_the_draws_and_their_noise_are_left():
    """Mean and variance of a mixture of the sampler's Gaussians, which differ in their noise."""
    own = fitted()
    first = own.samples.network.parameters[-2].offset
    still = own.samples.weights.clone()
    still[:, first:] = still[0, first:]
    zero = replace(own, samples=replace(own.samples, weights=still))
    none = replace(own, prediction="no_box").predict(INPUTS, stream(2)).components
    alone = SAMPLER.fit(PROBLEM, stream(1)).predict(INPUTS, stream(2))
    found = zero.predict(INPUTS, stream(2)).components
    torch.testing.assert_close(none.mean, alone.means[..., 0])
    torch.testing.assert_close(none.variance, alone.variances[..., 0], rtol=1e-6, atol=0)
    # The collapsed weights are then the first draw's; its component does not change.
    torch.testing.assert_close(found.mean[0], alone.means[0, :, 0])
    torch.testing.assert_close(found.variance, alone.variances[..., 0], rtol=1e-6, atol=0)
    assert alone.variances[:, 0, 0].unique().numel() > 1


def test_the_box_agrees_with_the_sampler_s_own_weights():
    own, drawn = fitted(bounds="minmax"), draws()
    weights = drawn.network.weights(drawn.states)
    assert torch.equal(own.samples.weights, weights)
    assert torch.equal(own.samples.box.lower, weights.min(0).values)
    assert torch.equal(own.samples.box.upper, weights.max(0).values)


def test_component_means_agree_with_networks_at_the_centre_of_the_box():
    """By the network itself: the last layer's mean weights, all other weights from the draw."""
    own = fitted()
    last = own.samples.network.parameters[-2].offset
    moved = own.samples.weights.clone()
    moved[:, last:] = own.samples.weights[:, last:].mean(0)
    wanted: Tensor = torch.stack(
        [own.samples.network(w[None], INPUTS[None])[0, :, 0] for w in moved]
    )
    found = own.predict(INPUTS, stream(2)).components.mean
    torch.testing.assert_close(found, wanted)


def test_the_variance_of_a_component_adds_noise_and_box():
    own = fitted()
    last = own.samples.network.parameters[-2].offset
    hidden = own.samples.features(INPUTS, -1)
    seen = torch.cat([hidden, torch.ones_like(hidden[..., :1])], -1)
    spread = own.samples.weights[:, last:].var(0)
    noise = draws().noise_precision.reciprocal()
    wanted = (seen.square() * spread).sum(-1) + noise[:, None]
    found = own.predict(INPUTS, stream(2)).components.variance
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=0)


def test_what_the_sampler_says_of_itself_is_said_again():
    own = fitted(collapse=SecondLayer(1))
    assert {"converged", "noise_std", "mean_box_width"} <= own.diagnostics.keys()
    assert math.isfinite(float(own.predict(INPUTS, stream(2)).variance.max()))


def test_it_refuses_what_it_does_not_cover():
    assert isinstance(CiberOfHmc(SAMPLER), Method)
    with pytest.raises(Unsupported, match="use Ciber"):
        CiberOfHmc(SAMPLER).fit(classification(), stream(1))
    with pytest.raises(ValueError, match="at least 2 draws"):
        CiberOfHmc(replace(SAMPLER, draws=1, chains=1))
    with pytest.raises(ValueError, match="ratio"):
        CiberOfHmc(SAMPLER, ratio=-1.0)
