"""Prior variances, compared with the integrals from which they are derived."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from bnnbench.methods.message_passing import priors
from bnnbench.methods.message_passing.kernels import reference
from bnnbench.methods.message_passing.network import Network
from bnnbench.methods.message_passing.priors import SpectralPrior, mean_std
from bnnbench.methods.networks.catalogue import LEAKY, cnn_000, mlp
from tests.methods.problems import stream


def test_the_constants_agree_with_a_leaky_unit_of_variance_two():
    z = np.linspace(-14, 14, 14_001)
    unit = np.where(z > 0, z, 0.1 * z)
    mu = np.linspace(-7, 7, 701)
    density = norm.pdf(z[None], mu[:, None], np.sqrt(2))
    mean = np.trapezoid(density * unit, z, axis=1)
    variance = np.trapezoid(density * unit**2, z, axis=1) - mean**2

    def over_mu(values):
        return np.trapezoid(norm.pdf(mu) * values, mu)

    assert over_mu(variance) == pytest.approx(priors.VARIANCE, abs=1e-4)
    assert over_mu(mean) ** 2 == pytest.approx(priors.MEAN_SQUARE, abs=1e-4)
    assert over_mu(mean**2) - over_mu(mean) ** 2 == pytest.approx(priors.MEAN_VARIANCE, abs=1e-4)


@pytest.mark.parametrize(
    ("fan_in", "outputs", "variance"), [(512, 10, 0.0064258), (1600, 512, 0.0017256)]
)
def test_published_variances(fan_in, outputs, variance):
    found = SpectralPrior().variance(fan_in, outputs, first=False)
    assert found == pytest.approx(variance, rel=1e-4)
    assert SpectralPrior().variance(fan_in, outputs, first=True) == pytest.approx(1.5 / fan_in)


@pytest.mark.parametrize(("fan_in", "outputs"), [(50, 50), (200, 30), (16, 400)])
def test_corrected_variances_give_pre_activations_the_variance_of_the_derivation(fan_in, outputs):
    prior = SpectralPrior(variances="corrected")
    variance = prior.variance(fan_in, outputs, first=False)
    second = priors.VARIANCE + priors.MEAN_VARIANCE + priors.MEAN_SQUARE
    means = priors.VARIANCE * mean_std(fan_in, outputs) ** 2
    assert fan_in * (means + variance * second) == pytest.approx(priors.OUTPUT_VARIANCE)


def test_orthogonal_means_are_orthogonal_and_as_large_as_normal_ones():
    network = Network(mlp([40, 20], 10, LEAKY), (30,), reference)
    like = torch.zeros(0, dtype=torch.float64)
    drawn = SpectralPrior(means="orthogonal").draw(network.weighted, [stream(0)], like)
    for layer, own in zip(network.weighted, drawn, strict=True):
        outputs, fan_in = layer.map.weight_shape
        mean = own.weight.mean[0]
        rows = mean if outputs <= fan_in else mean.T
        gram = rows @ rows.T
        assert torch.allclose(gram, gram[0, 0] * torch.eye(len(gram), dtype=torch.float64))
        assert mean.square().mean().sqrt() == pytest.approx(mean_std(fan_in, outputs))


def test_a_factor_of_the_means_leaves_variances_and_biases_alone():
    network = Network(cnn_000((2, 2, 3, 3), 5), (3, 32, 32), reference)
    like = torch.zeros(0, dtype=torch.float64)
    usual, larger = (
        SpectralPrior(scale=0.25, mean_scale=factor).draw(network.weighted, [stream(0)], like)
        for factor in (1.0, 2.0)
    )
    for layer, own, other in zip(network.weighted, usual, larger, strict=True):
        torch.testing.assert_close(other.weight.mean, 2 * own.weight.mean)
        assert torch.equal(other.weight.rho, own.weight.rho)
        assert torch.equal(other.bias.tau, own.bias.tau)
        # Unchanged, they are the draws themselves at the published size.
        count, fan_in = layer.map.weight_shape[0], np.prod(layer.map.weight_shape[1:])
        assert own.weight.mean.square().mean().sqrt() == pytest.approx(
            mean_std(int(fan_in), int(np.prod(layer.map.output_shape))),
            rel=4 / (2 * count * fan_in) ** 0.5,
        )


def test_members_draw_from_their_own_streams():
    network = Network(cnn_000((2, 2, 3, 3), 5), (3, 32, 32), reference)
    like = torch.zeros(0)
    pair = SpectralPrior().draw(network.weighted, [stream(0), stream(1)], like)
    alone = SpectralPrior().draw(network.weighted, [stream(1)], like)
    for both, one in zip(pair, alone, strict=True):
        assert torch.equal(both.weight.tau[1:], one.weight.tau)
