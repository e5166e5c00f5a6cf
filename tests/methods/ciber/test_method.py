"""CIBER as a method: its samples, its floor and its refusals."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.methods.base import Unsupported
from bnnbench.methods.ciber.collapse import LastLayer, SecondLayer
from bnnbench.methods.ciber.method import (
    CLEAN_LAST,
    CLEAN_SECOND,
    MARGIN,
    PAPER_LAST,
    REFERENCE_LAST,
    VARIANTS,
    Ciber,
)
from bnnbench.methods.ciber.posterior import Prediction
from bnnbench.methods.fitting.validation_search import held_out
from bnnbench.methods.networks.architectures import Linear, ReLU, Tanh
from bnnbench.methods.trajectory import collector
from bnnbench.methods.trajectory.collector import Descent, collect
from bnnbench.methods.trajectory.schedules import Plateau
from tests.methods.problems import classification, regression, stream

DESCENT = Descent(learning_rate=0.01, epochs=12, batch_size=8, start=0.25)


def test_samples_are_the_last_iterates_of_the_descent():
    problem = regression()
    fitted = replace(PAPER_LAST, training=DESCENT, samples=5).fit(problem, stream(1))
    wanted = collect([problem], [stream(1)], DESCENT, 5).samples[0]
    assert torch.equal(fitted.samples.weights, wanted)
    assert fitted.diagnostics["samples"] == 5


@pytest.mark.parametrize("method", [CLEAN_LAST, CLEAN_SECOND, REFERENCE_LAST])
def test_the_floor_is_the_one_of_the_best_held_out_likelihood(method):
    problem, method = regression(rows=60), replace(method, training=DESCENT)
    fitted = method.fit(problem, stream(1))
    rng = stream(1)
    rest, rows = held_out(problem.train, 1 / 9, rng)  # as in the method, from the same stream
    other = replace(method, epsilons=(0.0,)).fit(replace(problem, train=rest), rng)
    plain: Any = other.predict(rows.inputs, stream(2))
    likelihoods = {}
    for epsilon in method.epsilons:
        floored = plain.with_floor(epsilon, *method._floor_range(problem.train.targets))
        likelihoods[epsilon] = float(floored.log_prob(rows.targets).mean())
    best = max(likelihoods, key=lambda e: likelihoods[e])
    assert fitted.diagnostics["epsilon"] == best
    assert fitted.diagnostics["validation_log_likelihood"] == pytest.approx(likelihoods[best])
    assert fitted.floor[0] == best


def test_the_floor_covers_the_training_targets_and_three_deviations():
    problem = regression()
    fitted = replace(CLEAN_LAST, training=DESCENT).fit(problem, stream(1))
    _, low, high, _ = fitted.floor
    targets = problem.train.targets.double()
    reach = 3 * float(targets.std(correction=0))
    assert low == pytest.approx(float(targets.min()) - reach, rel=1e-6)
    assert high == pytest.approx(float(targets.max()) + reach, rel=1e-6)
    reference = replace(REFERENCE_LAST, training=DESCENT).fit(problem, stream(1))
    assert reference.floor[1:] == (-math.inf, math.inf, MARGIN)


def test_densities_of_zero_on_held_out_rows_are_counted():
    problem = regression(rows=60)
    targets = problem.train.targets.clone()
    targets[::3] += 3.0
    wild = replace(problem, train=Split(problem.train.inputs, targets))
    method = replace(CLEAN_LAST, training=DESCENT)
    known = replace(wild, likelihood=Gaussian(0.1))
    diagnostics = method.fit(known, stream(1)).diagnostics
    assert 0 < diagnostics["validation_zero_density"] <= 1


def test_rows_that_a_plateau_holds_out_choose_the_floor(monkeypatch):
    seen = []
    losses = collector.validation_losses

    def spy(stack, rows):
        seen.extend(rows)
        return losses(stack, rows)

    monkeypatch.setattr(collector, "validation_losses", spy)
    problem = regression(rows=60)
    method = replace(CLEAN_LAST, training=replace(DESCENT, schedule=Plateau(patience=2)))
    method.fit(problem, stream(1))
    _, (rows,) = method._parts([problem], [stream(1)])
    assert rows is not None
    assert torch.equal(seen[0].inputs, rows.inputs)


def test_known_noise_agrees_with_the_triangle():
    problem = regression(noise_std=0.3)
    fitted = replace(CLEAN_LAST, training=DESCENT).fit(problem, stream(1))
    prediction = fitted.predict(problem.train.inputs, stream(2))
    bases = prediction.half_bases.double()
    torch.testing.assert_close(bases**2 / 6, torch.full_like(bases, 0.09), rtol=1e-6, atol=0)


def test_collapsing_beats_no_prediction_at_all():
    problem, test = regression(rows=120), regression(seed=1, rows=200)
    descent = replace(DESCENT, epochs=20, batch_size=20, learning_rate=0.05)
    marginal = -0.5 * math.log(2 * math.pi * math.e * float(test.train.targets.var()))
    for methods in VARIANTS.values():
        for method in methods.values():
            fitted = replace(method, training=descent, epsilons=(1e-3,)).fit(problem, stream(1))
            prediction = fitted.predict(test.train.inputs, stream(2))
            found = float(prediction.log_prob(test.train.targets).mean())
            # The truth is linear with noise of 0.3: -0.21 nats.
            assert found < 0.0
            assert found > marginal + 0.5


def test_networks_that_cannot_be_collapsed_are_refused_with_a_cure():
    two = regression()
    targets = two.train.targets.expand(-1, 2)
    two = replace(two, train=Split(two.train.inputs, targets), architecture=(Linear(2),))
    cases = [
        (CLEAN_LAST, two, "one target"),
        (CLEAN_LAST, regression(architecture=(Linear(1), Tanh())), "linear layer"),
        (CLEAN_SECOND, regression(architecture=(Linear(3), Tanh(), Linear(1))), "ReLU"),
        (CLEAN_SECOND, regression(architecture=(Linear(1),)), "ReLU"),
        (CLEAN_SECOND, classification(), "regression"),
    ]
    for method, problem, needed in cases:
        with pytest.raises(Unsupported, match=f"needed.*{needed}"):
            method.fit(problem, stream(1))
    many = classification(architecture=(Linear(4), ReLU(), Linear(50)))
    many = replace(many, likelihood=replace(many.likelihood, classes=50))
    with pytest.raises(Unsupported, match="at most 34 classes"):
        replace(PAPER_LAST, training=DESCENT).fit(many, stream(1))


def test_a_linear_network_may_be_collapsed():
    problem = regression(rows=60, architecture=(Linear(1),))
    fitted = replace(CLEAN_LAST, training=replace(DESCENT, epochs=40)).fit(problem, stream(1))
    prediction = fitted.predict(problem.train.inputs, stream(2))
    assert float(prediction.log_prob(problem.train.targets).mean()) > -0.6


def by_sample(fitted, inputs):
    """Return mean and variance of every sample's noise, from plain networks."""
    samples = fitted.samples
    outputs = samples.network(samples.weights, inputs[None], buffers=samples.buffers)
    return (part[..., 0].double() for part in outputs.chunk(2, -1))


PREDICTING = replace(PAPER_LAST, training=DESCENT, samples=6)


def test_iterates_predict_by_the_mixture_of_their_gaussians():
    problem = regression()
    inputs, targets = problem.train.inputs, problem.train.targets
    fitted = replace(PREDICTING, prediction="iterates").fit(problem, stream(1))
    means, variances = by_sample(fitted, inputs)
    each = torch.distributions.Normal(means, variances.sqrt()).log_prob(targets[:, 0].double())
    found: Any = fitted.predict(inputs, stream(2))
    wanted = each.logsumexp(0) - math.log(6)
    torch.testing.assert_close(found.log_prob(targets).double(), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("collapse", [LastLayer(), SecondLayer()])
def test_without_a_box_every_sample_is_a_triangle_of_its_own(collapse):
    problem = regression()
    inputs, targets = problem.train.inputs, problem.train.targets
    method = replace(PREDICTING, collapse=collapse, prediction="no_box", epsilons=(1e-3,))
    fitted = method.fit(problem, stream(1))
    means, variances = by_sample(fitted, inputs)
    bases = method.ratio * variances.sqrt()
    triangles = (1 - (targets[:, 0].double() - means).abs() / bases).clamp(min=0) / bases
    _, low, high, _ = fitted.floor
    wanted = ((triangles.mean(0) + 1e-3) / (1 + 1e-3 * (high - low))).log()
    found: Any = fitted.predict(inputs, stream(2))
    torch.testing.assert_close(found.log_prob(targets), wanted, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(found.mean[:, 0], means.mean(0), rtol=1e-5, atol=1e-5)


def test_with_and_without_a_box_are_predictions_of_one_descent():
    problem = regression(rows=60)
    predictions: tuple[Prediction, ...] = ("box", "no_box", "iterates")
    for method in (PREDICTING, replace(CLEAN_LAST, training=DESCENT)):
        fits = [replace(method, prediction=p).fit(problem, stream(1)) for p in predictions]
        for fitted in fits:
            assert torch.equal(fitted.samples.weights, fits[0].samples.weights)
        for of, fitted in zip(predictions, fits, strict=True):
            shared = replace(method, prediction=of).from_fit(fits[0])
            assert shared.diagnostics == fitted.diagnostics


def test_classes_have_a_prediction_of_the_iterates_and_none_without_a_box():
    problem = classification()
    method = replace(PREDICTING, prediction="iterates")
    fitted = method.fit(problem, stream(1))
    found: Any = fitted.predict(problem.train.inputs, stream(2))
    samples = fitted.samples
    logits = samples.network(samples.weights, problem.train.inputs[None], buffers=samples.buffers)
    wanted = logits.double().softmax(-1).mean(0)
    torch.testing.assert_close(found.mixture_log_probs.exp().double(), wanted, rtol=0, atol=1e-6)
    with pytest.raises(Unsupported, match=r"needed a regression.*iterates"):
        replace(method, prediction="no_box").fit(problem, stream(1))


def test_settings_without_meaning_are_refused():
    with pytest.raises(ValueError, match="at least 2 iterates"):
        Ciber(training=Descent(epochs=1))
    with pytest.raises(ValueError, match=">= 2"):
        Ciber(samples=1)
    for epsilons in ((), (-1.0,), (math.inf,)):
        with pytest.raises(ValueError, match="epsilons"):
            Ciber(epsilons=epsilons)


@pytest.mark.parametrize("method", [PAPER_LAST, CLEAN_LAST])
def test_the_only_class_is_certain(method):
    problem = classification(architecture=(Linear(5), ReLU(), Linear(1)))
    one = replace(
        problem,
        train=replace(problem.train, targets=torch.zeros(37, dtype=torch.long)),
        likelihood=Categorical(1),
    )
    posterior = replace(method, training=DESCENT, samples=3).fit(one, stream(1))
    inputs = problem.train.inputs.clone().requires_grad_()
    assert torch.equal(
        posterior.predict(inputs.detach(), stream(2)).mixture_log_probs.exp(), torch.ones(37, 1)
    )
    (gradient,) = torch.autograd.grad(posterior.log_probs(inputs, stream(2)).sum(), inputs)
    assert torch.equal(gradient, torch.zeros_like(inputs))
