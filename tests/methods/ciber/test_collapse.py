"""Collapsed networks, compared with samples from the box and forward passes."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from bnnbench.datasets.base import Categorical, Gaussian
from bnnbench.methods.ciber.boxes import sides
from bnnbench.methods.ciber.classes import ClassWeights, log_probabilities
from bnnbench.methods.ciber.collapse import Collapse, LastLayer, SecondLayer, collapsed
from bnnbench.methods.ciber.samples import Samples
from bnnbench.methods.networks.architectures import Linear, ReLU
from bnnbench.methods.networks.heteroscedastic import HeteroscedasticNetwork
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import stream

COUNT, UNITS, FEATURES, POINTS = 4, 5, 3, 6
DRAWS = 20_000


def real(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def samples(outputs: int = 1, bounds: str = "moment") -> Samples:
    """Return iterates scattered around one network."""
    architecture = (Linear(UNITS), ReLU(), Linear(outputs))
    network = TorchNetwork(architecture, (FEATURES,))
    rng = stream(1)
    centre = torch.randn(network.parameter_count, generator=rng, dtype=torch.float64)
    around = torch.randn(COUNT, network.parameter_count, generator=rng, dtype=torch.float64)
    weights = centre + 0.4 * around * torch.rand(len(centre), generator=rng, dtype=torch.float64)
    likelihood = Gaussian() if outputs == 1 else Categorical(outputs)
    noise = 0.05 if outputs == 1 else None
    return Samples(
        network,
        likelihood,
        weights,
        weights[:, :0],
        noise,
        bounds,
    )


INPUTS = torch.randn(POINTS, FEATURES, generator=stream(2), dtype=torch.float64)
# Flat positions: first weights and biases, then the last layer's.
FIRST_BIAS, LAST, LAST_BIAS = UNITS * FEATURES, UNITS * (FEATURES + 1), UNITS * (FEATURES + 2)


def places(own: Samples, collapse: Collapse, s: int, x: Tensor) -> list[int]:
    """Return the collapsed weights of a sample at a point, from the sample's plain activations."""
    w, range_ = own.weights[s], own.box.upper - own.box.lower
    hidden = (w[:FIRST_BIAS].view(UNITS, FEATURES) @ x + w[FIRST_BIAS:LAST]).clamp(min=0)
    if isinstance(collapse, LastLayer):
        ranks = sorted(range(UNITS), key=lambda i: -float(hidden[i] * range_[LAST + i]))
        return [LAST + i for i in ranks[: collapse.weights]] + [LAST_BIAS]
    if collapse.unit is None:
        variance = own.weights[:, :FIRST_BIAS].var(0)
        return variance.argsort(descending=True)[: collapse.weights].tolist()
    row = collapse.unit * FEATURES
    ranks = sorted(range(FEATURES), key=lambda i: -float(x[i].abs() * range_[row + i]))
    return [row + i for i in ranks[: collapse.weights]] + [FIRST_BIAS + collapse.unit]


@pytest.mark.parametrize("bounds", ["minmax", "moment"])
@pytest.mark.parametrize(
    "collapse",
    [LastLayer(), LastLayer(2), SecondLayer(3), SecondLayer(2), SecondLayer(1),
     SecondLayer(2, unit=0), SecondLayer(9, unit=3)],
    ids=str,
)  # fmt: skip
def test_densities_and_means_agree_with_networks_drawn_from_the_box(collapse, bounds):
    own, ratio = samples(bounds=bounds), 2.45
    prediction = collapsed(own, collapse, INPUTS, ratio)
    r = ratio * math.sqrt(0.05)
    y = prediction.mean + 0.3
    density = prediction.components.density(y[:, 0])
    mean = prediction.components.mean
    unit = torch.rand(DRAWS, own.weights.shape[1], generator=stream(3), dtype=torch.float64)
    anywhere = own.box.lower + unit * own.box.width
    for s in range(2):
        for n in range(3):
            chosen = places(own, collapse, s, INPUTS[n])
            drawn = own.weights[s].repeat(DRAWS, 1)
            drawn[:, chosen] = anywhere[:, chosen]
            outputs = own.network(drawn, INPUTS[None, n : n + 1])[:, 0, 0]
            likelihood = (1 / r - (y[n] - outputs).abs() / r**2).clamp(min=0)
            for found, each in ((density[s, n], likelihood), (mean[s, n], outputs)):
                error = float(each.std()) / math.sqrt(DRAWS)
                assert abs(float(each.mean() - found)) <= 4.5 * error + 1e-12


def test_weights_that_feed_several_units_are_covered():
    """With this seed they do: two weights of one unit, one of another."""
    variance = samples().weights[:, :FIRST_BIAS].var(0)
    units = (variance.argsort(descending=True)[:3] // FEATURES).tolist()
    assert len(set(units)) > 1


def test_a_last_layer_of_three_samples_with_noise_of_their_own():
    """Values from rational arithmetic."""
    last = real(0.30, -0.20, 0.50, -0.10, 0.45, -0.15).view(3, 2)
    bias, hidden = real(0.05, 0, 0.10), real(0.5, 2.0, 0.6, 1.8, 0.4, 2.2).view(3, 2)
    raw = real(0.04, 0.05, 0.03).expm1().log()
    network = HeteroscedasticNetwork((Linear(2, bias=False), ReLU(), Linear(1)), (1,))
    nothing = torch.zeros(3, 2, dtype=torch.float64)
    shared = torch.full((3, 1), -50.0, dtype=torch.float64)
    weights = torch.cat([hidden, last, nothing, bias[:, None], raw[:, None], shared], 1)
    own = Samples(network, Gaussian(), weights, weights[:, :0], None, "minmax")
    # The box of the first layer has no effect; the features are the hidden units themselves.
    ones, y = torch.ones(2, 1, dtype=torch.float64), real(0.1, -0.35)[:, None]
    every = collapsed(own, LastLayer(), ones, 2.45)
    wanted = [1.41499201722, 1.53217101983, 1.13481853591]
    assert every.components.density(y[:, 0])[:, 0].tolist() == pytest.approx(wanted, rel=2e-11)
    assert every.log_prob(y).exp().tolist() == pytest.approx([1.36066052432, 0.821060509234])
    assert float(every.log_prob(y)[0]) == pytest.approx(0.307970261491, rel=2e-11)
    assert every.mean[0].tolist() == pytest.approx([-0.05])
    one = collapsed(own, LastLayer(1), ones, 2.45)
    assert one.log_prob(y).exp().tolist() == pytest.approx(
        [1.36876917846, 0.786921974295], rel=2e-11
    )
    assert one.mean[0].tolist() == pytest.approx([-0.04])
    wanted = [1.2078300708, 1.65259409458, 1.24588337001]
    assert one.components.density(y[:, 0])[:, 0].tolist() == pytest.approx(wanted, rel=5e-11)
    # On a range from -0.4 to 1.5, as in the paper's code.
    ends = real(0.1, -0.35, -0.4, 1.5)[:, None]
    for collapse, scored in (
        (LastLayer(), [1.41659029966, 0.863896412658]),
        (LastLayer(1), [1.42008455858, 0.832185604952]),
    ):
        four = collapsed(own, collapse, torch.ones(4, 1, dtype=torch.float64), 2.45)
        found = four.with_floor(0.01, -math.inf, math.inf, 0.0).log_prob(ends).exp()
        assert found[:2].tolist() == pytest.approx(scored, rel=2e-11)


@pytest.mark.parametrize("bounds", ["minmax", "moment"])
def test_exact_class_probabilities_are_means_over_one_weight_per_class(bounds):
    own, classes = samples(3, bounds), 3
    found = log_probabilities(own, ClassWeights(normalised=False), INPUTS).exp()
    shares = (torch.arange(20_000, dtype=torch.float64) + 0.5) / 20_000
    for s, n in ((0, 0), (1, 2), (3, 5)):
        w = own.weights[s]
        hidden = own.features(INPUTS, -1)[s, n]
        for k in range(classes):
            row = LAST + k * UNITS
            i = row + int((hidden * own.box.width[row : row + UNITS]).argmax())
            drawn = w.repeat(len(shares), 1)
            drawn[:, i] = own.box.lower[i] + shares * own.box.width[i]
            logits = own.network(drawn, INPUTS[None, n : n + 1])[:, 0]
            wanted = float(logits.softmax(-1)[:, k].mean())
            assert float(found[s, n, k]) == pytest.approx(wanted, rel=1e-7)


def test_cubic_class_probabilities_are_means_over_the_weights_of_greatest_variance():
    own, classes = samples(3), 3
    found = log_probabilities(own, ClassWeights("cubic", normalised=False), INPUTS).exp()
    variance = own.weights[:, LAST : LAST + classes * UNITS].var(0)
    best = (LAST + variance.argsort(descending=True)[:classes]).tolist()
    unit = torch.rand(DRAWS, own.weights.shape[1], generator=stream(3), dtype=torch.float64)
    anywhere, d = own.box.lower + unit * own.box.width, 3.522769163721558
    for s, n in ((0, 0), (1, 2), (3, 5)):
        plain = own.network(own.weights[s : s + 1], INPUTS[None, n : n + 1])[0, 0]
        for k in range(classes):
            mine = [i for i in best if (i - LAST) // UNITS == k]
            drawn = own.weights[s].repeat(DRAWS, 1)
            drawn[:, mine] = anywhere[:, mine]
            logit = own.network(drawn, INPUTS[None, n : n + 1])[:, 0, k]
            others = torch.cat([plain[:k], plain[k + 1 :]]).logsumexp(0)
            x = ((logit - others) / d).clamp(-1, 1)
            likelihood = 0.5 + 0.75 * x - 0.25 * x**3
            error = float(likelihood.std()) / math.sqrt(DRAWS)
            assert abs(float(likelihood.mean() - found[s, n, k])) <= 4.5 * error + 1e-12


@pytest.mark.parametrize("logistic", ["exact", "cubic"])
def test_normalised_class_probabilities_sum_to_one(logistic):
    own = samples(3)
    sums = log_probabilities(own, ClassWeights(logistic), INPUTS).exp().sum(-1)
    torch.testing.assert_close(sums, torch.ones_like(sums))
    raw = log_probabilities(own, ClassWeights(logistic, normalised=False), INPUTS).exp().sum(-1)
    assert ((raw - 1).abs() > 1e-3).any()


def test_without_a_range_the_softmax_is_left():
    own = samples(3)
    still = replace(own, weights=own.weights[:1].expand(COUNT, -1), bounds="minmax")
    found = log_probabilities(still, ClassWeights(), INPUTS)
    logits = still.network(still.weights[:1], INPUTS[None])
    torch.testing.assert_close(found[:1], logits.log_softmax(-1), rtol=1e-12, atol=1e-13)


def test_boxes_hold_the_iterates_or_have_their_variance():
    weights = torch.randn(7, 20, generator=stream(4), dtype=torch.float64)
    tight = sides(weights, "minmax")
    assert torch.equal(tight.lower, weights.min(0).values)
    assert torch.equal(tight.upper, weights.max(0).values)
    matched = sides(weights, "moment")
    torch.testing.assert_close(matched.width**2 / 12, weights.var(0))
    torch.testing.assert_close(matched.middle, weights.mean(0))


@pytest.mark.parametrize("bounds", ["minmax", "moment"])
def test_a_rotated_box_agrees_with_networks_drawn_from_it(bounds):
    own, ratio = samples(bounds=bounds), 2.45
    prediction = collapsed(own, LastLayer(axes="principal"), INPUTS, ratio)
    last = own.weights[:, LAST:]
    centred = last - last.mean(0)
    # Directions from the covariance: with four samples, those of smallest variance have none.
    values, vectors = torch.linalg.eigh(centred.T @ centred / (COUNT - 1))
    directions, std = vectors[:, 1 - COUNT :], values[1 - COUNT :].sqrt()
    coordinates = centred @ directions
    low, high = coordinates.amin(0), coordinates.amax(0)
    if bounds == "moment":
        low, high = -math.sqrt(3) * std, math.sqrt(3) * std
    unit = torch.rand(DRAWS, COUNT - 1, generator=stream(3), dtype=torch.float64)
    r = ratio * math.sqrt(0.05)
    y = prediction.mean + 0.3
    density = prediction.components.density(y[:, 0])
    for s in range(2):
        drawn = own.weights[s].repeat(DRAWS, 1)
        drawn[:, LAST:] = last.mean(0) + (low + unit * (high - low)) @ directions.T
        for n in range(3):
            outputs = own.network(drawn, INPUTS[None, n : n + 1])[:, 0, 0]
            likelihood = (1 / r - (y[n] - outputs).abs() / r**2).clamp(min=0)
            for found, each in (
                (density[s, n], likelihood),
                (prediction.components.mean[s, n], outputs),
            ):
                error = float(each.std()) / math.sqrt(DRAWS)
                assert abs(float(each.mean() - found)) <= 4.5 * error + 1e-12


def test_a_rotated_box_of_moments_has_the_covariance_of_the_samples():
    own, ratio = samples(), 2.45
    components = collapsed(own, LastLayer(axes="principal"), INPUTS, ratio).components
    hidden = own.features(INPUTS, -1)
    with_bias = torch.cat([hidden, torch.ones_like(hidden[..., :1])], -1)
    covariance = own.weights[:, LAST:].T.cov()
    wanted = torch.einsum("spi,ij,spj->sp", with_bias, covariance, with_bias)
    noise = 0.05 * ratio**2 / 6
    torch.testing.assert_close(components.variance, wanted + noise)


def test_settings_that_no_box_can_have_are_refused():
    with pytest.raises(ValueError, match="at most 3 weights"):
        SecondLayer(4)
    with pytest.raises(ValueError, match="weights"):
        LastLayer(0)
    with pytest.raises(ValueError, match="needs all weights"):
        LastLayer(2, axes="principal")
