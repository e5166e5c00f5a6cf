"""The neural linear model, by joint densities, quadrature and the network's features."""

import math

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import Unsupported
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.networks.architectures import Linear, ReLU
from bnnbench.methods.neural_linear import (
    PRECISIONS,
    NeuralLinear,
    NeuralLinearPosterior,
    Regression,
)
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.last_iterate import LastIterate
from tests.methods.problems import classification, design, regression, stream

ADAMW = AdamW(learning_rate=1e-2, epochs=20, batch_size=8)
SHAPE, RATE = 1.5, 0.3


def model(rows: int = 12, features: int = 3, outputs: int = 1) -> tuple[Regression, np.ndarray]:
    """Return a conjugate model and its features, with their targets in the last column."""
    seen = torch.randn(rows, features, generator=stream(1), dtype=torch.float64)
    targets = torch.randn(rows, outputs, generator=stream(2), dtype=torch.float64)
    both = torch.cat([seen, targets], 1).numpy()
    return Regression.of(seen, targets, SHAPE, RATE), both


@pytest.mark.parametrize("precision", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("features", [3, 20])
def test_the_evidence_is_the_density_of_a_multivariate_t(precision, features):
    found, both = model(features=features)
    seen, targets = both[:, :features], both[:, features]
    scale = RATE / SHAPE * (np.eye(12) + seen @ seen.T / precision)
    exact = scipy.stats.multivariate_t.logpdf(targets, np.zeros(12), scale, df=2 * SHAPE)
    assert found.log_evidence(precision) == pytest.approx(exact, rel=1e-9)


def test_the_evidence_is_the_integral_over_weight_and_noise():
    seen = torch.tensor([[0.5], [-1.0], [1.5]], dtype=torch.float64)
    targets = torch.tensor([[0.3], [-0.5], [1.1]], dtype=torch.float64)
    found = Regression.of(seen, targets, SHAPE, RATE).log_evidence(2.0)

    weights = np.linspace(-12, 12, 4001)[:, None]
    noises = np.exp(np.linspace(-9, 6, 1501))
    joint = scipy.stats.norm.logpdf(weights, 0, np.sqrt(noises / 2)) + scipy.stats.invgamma.logpdf(
        noises, SHAPE, scale=RATE
    )
    for x, y in zip(seen[:, 0].tolist(), targets[:, 0].tolist(), strict=True):
        joint += scipy.stats.norm.logpdf(y, weights * x, np.sqrt(noises))
    exact = (np.exp(joint) * noises).sum() * (24 / 4000) * (15 / 1500)
    assert found == pytest.approx(math.log(exact), abs=1e-6)


def test_outputs_are_models_of_their_own():
    both, columns = model(outputs=2)
    seen, targets = (torch.from_numpy(part) for part in np.split(columns, [3], 1))
    apart = [Regression.of(seen, targets[:, k : k + 1], SHAPE, RATE) for k in range(2)]
    assert both.log_evidence(2.0) == pytest.approx(sum(m.log_evidence(2.0) for m in apart))
    assert both.rates(2.0).tolist() == pytest.approx([float(m.rates(2.0)[0]) for m in apart])


@given(st.floats(-8, 8), st.integers(1, 2))
def test_the_slope_of_the_evidence_is_its_difference(log_precision, outputs):
    found, _ = model(outputs=outputs)
    _, slope = found.with_slope(log_precision)
    ahead, behind = (found.with_slope(log_precision + step)[0] for step in (1e-5, -1e-5))
    assert slope == pytest.approx((ahead - behind) / 2e-5, rel=1e-4, abs=1e-6)


def test_the_most_evident_precision_agrees_with_a_grid():
    seen = torch.randn(40, 3, generator=stream(1), dtype=torch.float64)
    targets = seen @ torch.tensor([[0.5], [-0.3], [0.8]], dtype=torch.float64)
    targets += 0.2 * torch.randn(40, 1, generator=stream(2), dtype=torch.float64)
    found = Regression.of(seen, targets, SHAPE, RATE)
    best, within = found.maximise_evidence()
    most = max(found.log_evidence(precision) for precision in np.geomspace(1e-4, 1e4, 400))
    assert within
    assert most <= found.log_evidence(best) <= most + 1e-3


def test_targets_without_a_word_about_features_leave_the_precision_at_its_bound():
    seen = torch.ones(10, 1, dtype=torch.float64)
    targets = torch.tensor([1.0, -1.0] * 5, dtype=torch.float64)[:, None]
    best, within = Regression.of(seen, targets, SHAPE, RATE).maximise_evidence()
    assert best == pytest.approx(PRECISIONS[1], rel=1e-3)
    assert not within


def test_a_linear_networks_prediction_is_the_integral_over_the_conjugate_posterior():
    problem = regression(rows=20, architecture=(Linear(1),), dtype=torch.float64)
    found = NeuralLinear(ADAMW, 0.7, SHAPE, RATE).fit(problem, stream(1))
    rows, targets = design(problem).numpy(), problem.train.targets[:, 0].numpy()
    covariance = np.linalg.inv(rows.T @ rows + 0.7 * np.eye(5))
    mean = covariance @ rows.T @ targets
    rate = RATE + 0.5 * (((targets - rows @ mean) ** 2).sum() + 0.7 * (mean**2).sum())
    noise = scipy.stats.invgamma(SHAPE + 10, scale=rate)
    spread = 1 + (rows @ covariance * rows).sum(1)
    prediction = found.predict(problem.train.inputs, stream(2))
    for n in (0, 7):
        exact, _ = quad(
            lambda s, n=n: noise.pdf(s)
            * scipy.stats.norm.pdf(targets[n], rows[n] @ mean, math.sqrt(s * spread[n])),
            0, 3, points=[noise.mean()], limit=200,
        )  # fmt: skip
        log_prob = prediction.log_prob(problem.train.targets)[n]
        assert float(log_prob) == pytest.approx(math.log(exact), abs=1e-7)


@pytest.mark.parametrize(
    "training", [ADAMW, LastIterate(Descent(learning_rate=1e-2, epochs=5, batch_size=8))]
)
def test_features_are_what_the_trained_networks_last_layer_sees(training):
    problem = regression()
    mode = training.fit(problem, stream(1))
    found = NeuralLinear(training).fit(problem, stream(1))
    assert isinstance(mode, NetworkPosterior)
    assert isinstance(found, NeuralLinearPosterior)
    weights = mode.weights[0, :35]
    hidden = (problem.train.inputs @ weights[:28].view(7, 4).T + weights[28:]).relu()
    expected = torch.cat([hidden, torch.ones(37, 1)], 1).double()
    torch.testing.assert_close(found.features(problem.train.inputs), expected)


@pytest.mark.parametrize(
    ("problem", "training", "needed"),
    [
        (classification(), ADAMW, "regression of unknown noise"),
        (regression(noise_std=0.3), ADAMW, "regression of unknown noise"),
        (regression(architecture=(Linear(1), ReLU())), ADAMW, "ends in a linear layer"),
        (regression(), Ensemble(2, ADAMW), "one weight vector"),
    ],
)
def test_other_problems_and_trainings_are_refused_with_a_cure(problem, training, needed):
    with pytest.raises(Unsupported, match=needed):
        NeuralLinear(training).fit(problem, stream(1))


@pytest.mark.parametrize("name", ["prior_precision", "noise_shape", "noise_rate"])
def test_settings_without_sense_are_refused(name):
    with pytest.raises(ValueError, match=name):
        NeuralLinear(**{name: 0.0})
