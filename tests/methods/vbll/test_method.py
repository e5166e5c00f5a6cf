"""Variational Bayesian last layers on problems with known answers."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.fitting.network_posterior import POINTS_AT_ONCE
from bnnbench.methods.networks.architectures import Linear, ReLU
from bnnbench.methods.networks.start import Start
from bnnbench.methods.post_hoc.on_last_layer import OnLastLayer
from bnnbench.methods.vbll.method import Vbll
from tests.methods.problems import classification, regression, stream

LINEAR = (Linear(1),)


def double(values):
    return torch.tensor(values, dtype=torch.float64)


def test_training_a_linear_model_reaches_its_exact_posterior():
    problem = regression(noise_std=0.5, architecture=LINEAR, dtype=torch.float64)
    slow = Vbll(learning_rate=0.03, weight_decay=0.0, epochs=400, batch_size=37, clip=1e6)
    trained = slow.fit(problem, stream(0))
    exact = replace(slow, epochs=1, exact=True).fit(problem, stream(0))
    torch.testing.assert_close(trained.means, exact.means, atol=1e-3, rtol=0)
    covariances = [p.factors @ p.factors.mT for p in (trained, exact)]
    torch.testing.assert_close(*covariances, atol=1e-4, rtol=0)


def test_a_known_noise_stays_as_it_is():
    posterior = Vbll(epochs=2).fit(regression(noise_std=0.7), stream(0))
    assert posterior.diagnostics["noise_std"] == pytest.approx(0.7, rel=1e-6)


def test_joint_draws_have_the_moments_of_the_closed_form():
    problem = regression(dtype=torch.float64)
    closed = Vbll(epochs=3).fit(problem, stream(0))
    joint = Vbll(draws=20_000, joint=True).from_fit(closed)
    inputs = problem.train.inputs[:6]
    one, many = (p.predict(inputs, stream(1)) for p in (closed, joint))
    standard_errors = (many.means.std(0) / 20_000**0.5).squeeze(-1)
    assert ((many.mean - one.mean).squeeze(-1).abs() < 5 * standard_errors).all()
    torch.testing.assert_close(many.variance, one.variance, rtol=0.03, atol=0)


@pytest.mark.parametrize("make", [regression, classification])
def test_a_draw_is_the_same_function_whatever_the_points(make):
    problem = make(dtype=torch.float64)
    posterior = Vbll(epochs=1, draws=5, joint=True).fit(problem, stream(0))
    inputs = make(1, POINTS_AT_ONCE + 70, dtype=torch.float64).train.inputs
    whole = vars(posterior.predict(inputs, stream(1)))
    some = vars(posterior.predict(inputs[100:140], stream(1)))
    for name, array in some.items():
        torch.testing.assert_close(whole[name][:, 100:140], array)


def test_class_probabilities_are_those_of_independent_logits_at_a_point():
    phi = torch.sin(1 + torch.arange(6.0)[:, None] + 2 * torch.arange(3.0)).double()
    problem = Problem(
        Split(phi, torch.tensor([0, 1, 2, 0, 1, 2])), Categorical(3), (Linear(3, bias=False),)
    )
    fitted = Vbll(epochs=1, draws=8_000).fit(problem, stream(0))
    posterior = replace(
        fitted,
        means=double([[0.5, -0.2, 0.1], [-0.3, 0.4, 0.0], [0.2, 0.1, -0.6]]),
        factors=torch.stack([torch.diag(double([0.1 * (k + 1), 0.2, 0.3])) for k in range(3)]),
        noise_stds=double([0.3, 0.5, 0.1]),
    )
    probabilities = posterior.predict(phi[:1], stream(1)).mixture_log_probs.exp()[0]
    torch.testing.assert_close(probabilities, double([0.3133, 0.2049, 0.4819]), atol=4e-3, rtol=0)


def test_it_continues_from_a_trained_network():
    problem = regression()
    weights = torch.linspace(-0.5, 0.5, 4 * 7 + 7 + 7 + 1)
    start = Start(weights, weights[:0], noise_variance=0.09)
    posterior = Vbll(learning_rate=1e-9, epochs=1).fit(replace(problem, start=start), stream(0))
    torch.testing.assert_close(posterior.means.float()[0], weights[-8:], atol=1e-6, rtol=0)
    torch.testing.assert_close(posterior.weights[0], weights[:-8], atol=1e-6, rtol=0)
    assert posterior.diagnostics["noise_std"] == pytest.approx(0.3, rel=1e-5)


def test_it_is_a_treatment_of_a_trained_last_layer():
    problem = regression(rows=60, dtype=torch.float64)
    weights = torch.linspace(-0.5, 0.5, 4 * 7 + 7 + 7 + 1, dtype=torch.float64)
    trained = replace(problem, start=Start(weights, weights[:0]))
    last = OnLastLayer(Vbll(epochs=3, exact=True)).fit(trained, stream(0))
    split = last.features.of_split(problem.train)
    phi = np.column_stack([split.inputs.numpy(), np.ones(60)])
    noise = last.diagnostics["noise_std"] ** 2
    ridge = phi.T @ phi + 8 * noise * np.eye(8)
    expected = phi @ np.linalg.solve(ridge, phi.T @ split.targets.numpy())
    prediction = last.of_layer.predict(split.inputs, stream(1))
    np.testing.assert_allclose(prediction.mean.numpy(), expected, atol=1e-9)


def test_another_last_layer_is_refused():
    problem = regression(architecture=(Linear(3), ReLU(), Linear(1), ReLU()))
    with pytest.raises(Unsupported, match="ends in a linear layer"):
        Vbll().fit(problem, stream(0))
