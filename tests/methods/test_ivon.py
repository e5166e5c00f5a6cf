"""IVON, compared with ivon-opt and a conjugate model, and with arbitrary gradients."""

from importlib.util import find_spec

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.ivon import Ivon, NaturalGradient
from tests.methods.problems import exact_posterior, regression, stream, streams

# Initial Hessians that float32 holds exactly, since ivon-opt rounds them to it.
SETTINGS = [
    (Ivon(), 500.0),
    (Ivon(learning_rate=0.2, beta2=0.999, initial_hessian=0.5, weight_decay=2e-4), 50_000.0),
    (Ivon(learning_rate=0.02, beta1=0.8, beta2=0.9, weight_decay=0.1), 60.0),
    (Ivon(learning_rate=0.05, beta1=0.0, beta2=0.99, initial_hessian=0.125, weight_decay=0.0), 1e3),
]


@pytest.mark.skipif(find_spec("ivon") is None, reason="needs ivon-opt")
@pytest.mark.parametrize(("method", "sample_size"), SETTINGS)
def test_thirty_steps_equal_those_of_ivon_opt(method, sample_size):
    import ivon

    rng, size = stream(0), 12
    start = torch.randn(size, generator=rng, dtype=torch.float64)
    curvature = torch.randn(size, size, generator=rng, dtype=torch.float64)
    curvature = curvature @ curvature.T / size

    def gradient(weights):
        return curvature @ (weights - 1) + 0.3 * torch.sin(5 * weights)

    weights = start.clone().requires_grad_()
    theirs = ivon.IVON(
        [weights],
        lr=method.learning_rate,
        ess=sample_size,
        hess_init=method.initial_hessian,
        beta1=method.beta1,
        beta2=method.beta2,
        weight_decay=method.weight_decay,
    )
    ours = NaturalGradient([method], sample_size, start[None].clone())
    with torch.random.fork_rng():
        torch.manual_seed(1)
        for step in range(30):
            rate = method.learning_rate * (1 - step / 60)
            theirs.param_groups[0]["lr"] = rate
            ours.begin_epoch([1 - step / 60])
            mean = weights.detach().clone()
            with theirs.sampled_params(train=True):
                sample = weights.detach().clone()
                weights.grad = gradient(sample)
            theirs.step()
            normals = (sample - mean) / ours.std(1)[0]
            own = ours.sample(normals[None])
            ours.step(normals[None], gradient(own[0])[None])
    exactly = {"rtol": 1e-10, "atol": 1e-12}
    torch.testing.assert_close(ours.mean[0], weights.detach(), **exactly)
    torch.testing.assert_close(ours.hessian[0], theirs.param_groups[0]["hess"], **exactly)
    torch.testing.assert_close(ours.momentum[0], theirs.param_groups[0]["momentum"], **exactly)


NUMBERS = st.floats(-1e6, 1e6)


@settings(max_examples=200)
@given(
    steps=st.lists(st.tuples(NUMBERS, st.floats(-6, 6)), min_size=1, max_size=20),
    beta2=st.sampled_from([0.0, 0.5, 0.9, 0.999, 0.99999]),
    weight_decay=st.floats(0, 10),
    initial=st.floats(1e-3, 10),
)
def test_the_precision_stays_positive_whatever_the_gradients(steps, beta2, weight_decay, initial):
    method = Ivon(beta2=beta2, weight_decay=weight_decay, initial_hessian=initial)
    ascent = NaturalGradient([method], 100.0, torch.zeros(1, 1, dtype=torch.float64))
    for gradient, noise in steps:
        normals = torch.full((1, 1), noise, dtype=torch.float64)
        ascent.step(normals, torch.full((1, 1), gradient, dtype=torch.float64))
        assert (ascent.hessian + weight_decay > 0).all()
        assert ascent.std(1).isfinite().all()


def test_the_exact_curvature_of_a_quadratic_is_a_fixed_point_of_the_hessian():
    curvature = torch.tensor([[0.3, 2.0, 7.0]], dtype=torch.float64)
    method = Ivon(beta2=0.9, weight_decay=0.01)
    ascent = NaturalGradient([method], 50.0, torch.zeros(1, 3, dtype=torch.float64))
    ascent.begin_epoch([0.0])
    for step in range(400):  # normals of ±1 have the moments of a standard normal up to the third
        sign = 1.0 if step % 2 else -1.0
        normals = torch.full((1, 3), sign, dtype=torch.float64)
        ascent.step(normals, curvature * ascent.sample(normals))
    torch.testing.assert_close(ascent.hessian, curvature, rtol=1e-8, atol=0)


@pytest.mark.long
def test_the_hessian_of_a_correlated_quadratic_settles_at_its_diagonal():
    curvature = torch.tensor([[2.0, 0.9, 0.0], [0.9, 1.0, -0.3], [0.0, -0.3, 0.5]]).double()
    optimum = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    method = Ivon(learning_rate=0.02, beta2=0.998, weight_decay=0.05)
    rngs, total = streams(*range(16)), torch.zeros(3, dtype=torch.float64)
    ascent = NaturalGradient([method] * 16, 200.0, torch.zeros(16, 3, dtype=torch.float64))
    for step in range(6000):
        normals = normal(rngs, 3, dtype=torch.float64)
        ascent.step(normals, (ascent.sample(normals) - optimum) @ curvature)
        if step >= 3000:
            total += ascent.hessian.mean(0) / 3000
    torch.testing.assert_close(total, curvature.diagonal(), rtol=0.02, atol=0)
    expected = torch.linalg.solve(curvature + 0.05 * torch.eye(3), curvature @ optimum)
    torch.testing.assert_close(ascent.mean.mean(0), expected, rtol=0, atol=0.03)


def test_bayesian_linear_regression_ends_at_the_mean_field_optimum(linear):
    prior_precision = 2.0
    method = Ivon(
        learning_rate=0.1,
        beta2=0.998,
        weight_decay=prior_precision / len(linear.train),
        epochs=2500,
        batch_size=len(linear.train),
    )
    posterior = method.fit(linear, stream(0))
    mean, precision = exact_posterior(linear, 0.5, prior_precision)
    std = precision.diagonal().rsqrt()
    assert ((posterior.at_mean.weights[0] - mean) / std).abs().max() < 0.15
    torch.testing.assert_close(posterior.std, std, rtol=0.1, atol=0)


def test_the_effective_sample_size_scales_the_variance_and_leaves_the_mean(linear):
    colder = Ivon(effective_sample_size=100.0 * len(linear.train), epochs=1, batch_size=20)
    usual = Ivon(epochs=1, batch_size=20)
    ratio = usual.fit(linear, stream(0)).std / colder.fit(linear, stream(0)).std
    torch.testing.assert_close(ratio, torch.full_like(ratio, 10.0), rtol=1e-2, atol=0)


def test_no_draws_predict_at_the_mean():
    problem = regression()
    fitted = [Ivon(epochs=2, draws=draws).fit(problem, stream(0)) for draws in (0, 3)]
    assert torch.equal(fitted[0].at_mean.weights, fitted[1].at_mean.weights)
    at_mean, drawn = (p.predict(problem.train.inputs, stream(1)) for p in fitted)
    expected = fitted[1].at_mean.predict(problem.train.inputs, stream(1))
    assert torch.equal(at_mean.means, expected.means)
    assert len(at_mean.means) == 1
    assert len(drawn.means) == 3
