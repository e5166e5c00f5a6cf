"""Shared parts of gradient methods: the loss, learned noise, divergence, stacks."""

import math

import pytest
import torch
from torch.distributions import Normal

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import InferenceDiverged, Problem
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.fitting.batched import fit_in_stacks
from bnnbench.methods.fitting.minibatches import Minibatches
from bnnbench.methods.fitting.training import ObservationNoise, Stack
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.networks.architectures import Conv2d, Linear
from bnnbench.methods.sgd import Sgd
from tests.methods.problems import classification, images, regression, stream, streams


def two_outputs(noise_std=None, rows=40):
    rng = stream(0)
    inputs = torch.randn(rows, 4, generator=rng, dtype=torch.float64)
    targets = torch.randn(rows, 2, generator=rng, dtype=torch.float64)
    return Problem(Split(inputs, targets), Gaussian(noise_std), (Linear(2),))


def test_the_loss_is_the_mean_negative_log_likelihood_of_whole_rows():
    problem = two_outputs(noise_std=0.6)
    stack = Stack([problem], [stream(0)], 40)
    inputs, targets = problem.train.inputs[None], problem.train.targets[None]
    means = stack.network(stack.weights, inputs)
    expected = -Normal(means, 0.6).log_prob(targets).sum(-1).mean(1)
    loss = stack.loss(stack.weights, inputs, targets)
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=0)


def test_the_learned_noise_of_several_outputs_is_their_pooled_residual():
    problem = two_outputs(rows=200)
    posterior = AdamW(0.05, 0.0, epochs=200, batch_size=200).fit(problem, stream(0))
    ones = torch.ones(200, 1, dtype=torch.float64)
    rows = torch.cat([problem.train.inputs, ones], dim=1)
    targets = problem.train.targets
    residuals = targets - rows @ torch.linalg.lstsq(rows, targets).solution
    expected = float(residuals.square().mean().sqrt())
    assert posterior.diagnostics["noise_std"] == pytest.approx(expected, rel=1e-3)


def noise_of(likelihood, rows=100, batch_size=10):
    batches = Minibatches([regression(rows=rows)], streams(0), batch_size)
    return ObservationNoise(likelihood, batches, torch.zeros(1, 1, dtype=torch.float64))


def test_noise_that_is_known_is_not_learned():
    noise = noise_of(Gaussian(0.2))
    noise.update(torch.full((1,), 9.0, dtype=torch.float64), 10)
    assert noise.variance.item() == pytest.approx(0.04)


def test_learned_noise_tends_to_the_mean_squared_residual():
    noise, rng = noise_of(Gaussian()), stream(1)
    for _ in range(300):
        noise.update(0.5 + torch.rand(1, generator=rng, dtype=torch.float64), 10)
    assert noise.variance.item() == pytest.approx(1.0, abs=0.15)


def test_a_small_last_batch_moves_the_noise_by_its_share():
    whole, part = noise_of(Gaussian()), noise_of(Gaussian())
    residual = torch.full((1,), 5.0, dtype=torch.float64)
    whole.update(residual, 10)
    part.update(residual, 1)
    assert part.variance.item() - 1 == pytest.approx((whole.variance.item() - 1) / 10)


ABSURD = [
    AdamW(learning_rate=1e30, epochs=3),
    Sgd(learning_rate=1e20, epochs=3),
    Mfvi(learning_rate=1e30, epochs=3),
    Ivon(learning_rate=1e30, epochs=3),
    McDropout(training=AdamW(learning_rate=1e30, epochs=3)),
    Ensemble(2, AdamW(learning_rate=1e30, epochs=3)),
]


@pytest.mark.parametrize("method", ABSURD, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("make", [regression, classification, images])
def test_an_absurd_learning_rate_is_reported_as_divergence(method, make):
    with pytest.raises(InferenceDiverged):
        method.fit(make(), stream(0))


def test_noise_that_overflows_is_divergence_although_weights_are_finite():
    with pytest.raises(InferenceDiverged):
        AdamW(learning_rate=1e12, epochs=2, schedule="constant").fit(regression(), stream(0))


@pytest.mark.parametrize("method", ABSURD, ids=lambda method: type(method).__name__)
def test_side_by_side_divergence_is_returned_in_place(method):
    fitted = method.fit_many([regression(), regression(1)], streams(0, 1))
    assert [type(fit) for fit in fitted] == [InferenceDiverged, InferenceDiverged]


def test_problems_that_differ_in_more_than_rows_are_refused():
    others = [
        regression(architecture=(Linear(1),)),
        regression(noise_std=0.1),
        classification(),
    ]
    for other in others:
        with pytest.raises(ValueError, match="differ only in their rows"):
            AdamW(epochs=1).fit_many([regression(), other], streams(0, 1))


def test_multilayer_perceptrons_are_stacked_and_convolutions_fitted_one_by_one():
    def sizes(problems):
        seen = []

        def fit_stack(stack, rngs):
            seen.append((len(stack), len(rngs)))
            return [InferenceDiverged()] * len(stack)

        fit_in_stacks(fit_stack, problems, streams(*range(len(problems))))
        return seen

    assert sizes([regression(seed) for seed in range(3)]) == [(3, 3)]
    assert sizes([images(seed) for seed in range(3)]) == [(1, 1)] * 3
    assert any(isinstance(layer, Conv2d) for layer in images().architecture)


def test_the_cosine_schedule_falls_from_the_peak_as_torch_has_it():
    from bnnbench.methods.fitting.training import learning_rate_factor

    parameter = torch.zeros(1, requires_grad=True)
    optimiser = torch.optim.SGD([parameter], lr=1.0)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=7)
    for epoch in range(7):
        (rate,) = schedule.get_last_lr()
        assert learning_rate_factor("cosine", epoch, 7) == pytest.approx(rate)
        assert math.isclose(learning_rate_factor("constant", epoch, 7), 1.0)
        optimiser.step()
        schedule.step()


def test_the_exponential_schedule_loses_four_percent_an_epoch_as_torch_has_it():
    from bnnbench.methods.fitting.training import learning_rate_factor

    parameter = torch.zeros(1, requires_grad=True)
    optimiser = torch.optim.SGD([parameter], lr=1.0)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, 0.96)
    for epoch in range(5):
        (rate,) = schedule.get_last_lr()
        assert learning_rate_factor("exponential", epoch, 50) == pytest.approx(rate)
        optimiser.step()
        schedule.step()


def test_steps_fall_to_a_tenth_at_half_and_at_three_quarters_of_the_epochs():
    from bnnbench.methods.fitting.training import learning_rate_factor

    factors = [learning_rate_factor("steps", epoch, 200) for epoch in range(200)]
    assert factors == pytest.approx([1.0] * 100 + [0.1] * 50 + [0.01] * 50)


def test_a_classifier_that_ends_far_worse_than_by_chance_has_diverged():
    """The second of two members side by side steps too far; both stay finite."""
    problems = [classification(seed) for seed in (0, 1)]
    variants = [Sgd(0.01, epochs=3, schedule="constant"), Sgd(300.0, epochs=3, schedule="constant")]
    sound, wild = Sgd.fit_side_by_side(variants, problems, [stream(0), stream(1)])
    assert not isinstance(sound, InferenceDiverged)
    assert isinstance(wild, InferenceDiverged)
    assert str(wild) == "training ended 30 times worse than by chance"
