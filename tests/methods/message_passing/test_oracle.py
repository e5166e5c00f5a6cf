"""The oracle, compared with independent references: conjugate models, quadrature, data."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from bnnbench.methods.networks.architectures import Conv2d, Flatten, LeakyReLU, Linear, MaxPool2d
from tests.methods.message_passing.conjugate import linear_posterior
from tests.methods.message_passing.digits import digits
from tests.methods.message_passing.oracle import (
    Argmax,
    KnownNoise,
    Trainer,
    build,
    spectral_prior,
    window,
)
from tests.methods.message_passing.oracle_factors import message, moments
from tests.methods.message_passing.oracle_layers import Affine, Prior


def some_prior(rng, outputs, *inputs) -> Prior:
    size = (outputs, *inputs)
    return Prior(
        rng.normal(0, 0.5, size),
        rng.uniform(0.2, 1.0, size),
        rng.normal(0, 0.3, outputs),
        rng.uniform(0.2, 1.0, outputs),
    )


def flat(prior: Prior) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of one output's weights and bias."""
    return (
        np.append(prior.mean[0], prior.bias_mean[0]),
        np.append(prior.variance[0], prior.bias_variance[0]),
    )


def regression(rng, points: int, features: int, noise: float):
    inputs = rng.normal(size=(points, features))
    targets = inputs @ rng.normal(size=features) + noise**0.5 * rng.normal(size=points)
    return inputs, targets[:, None], np.column_stack([inputs, np.ones(points)])


def linear_trainer(prior, inputs, targets, noise, batches=None) -> Trainer:
    layers = build((Linear(1),), inputs.shape[1:], [prior])
    batches = [range(len(inputs))] if batches is None else batches
    return Trainer(layers, KnownNoise(noise), inputs, targets, batches)


def posterior(trainer: Trainer) -> tuple[np.ndarray, np.ndarray]:
    marginal = trainer.marginals[0]
    return moments(np.append(marginal.weight[:, 0], marginal.bias, axis=1))


def test_one_example_gives_the_exact_posterior_of_linear_regression():
    rng = np.random.default_rng(0)
    inputs, targets, design = regression(rng, 1, 5, 0.3)
    prior = some_prior(rng, 1, 5)
    trainer = linear_trainer(prior, inputs, targets, 0.3)
    trainer.epoch(1, [(0, [0])], 1)
    mean, covariance = linear_posterior(design, targets[:, 0], 0.3, *flat(prior))
    assert_allclose(posterior(trainer)[0], mean, rtol=1e-12)
    assert_allclose(posterior(trainer)[1], np.diag(covariance), rtol=1e-12)


@pytest.mark.parametrize(
    ("points", "features"), [(40, 5), pytest.param(60, 20, marks=pytest.mark.long)]
)
def test_many_examples_converge_to_the_exact_posterior_mean_in_any_order(points, features):
    rng = np.random.default_rng(1)
    inputs, targets, design = regression(rng, points, features, 0.3)
    prior = some_prior(rng, 1, features)
    mean, covariance = linear_posterior(design, targets[:, 0], 0.3, *flat(prior))
    for order in (range(points), rng.permutation(points)):
        trainer = linear_trainer(prior, inputs, targets, 0.3)
        trainer.visit(0, order, 150, 1.0)
        found, variance = posterior(trainer)
        assert np.abs((found - mean) / np.sqrt(np.diag(covariance))).max() < 1e-9
        assert (np.abs(variance / np.diag(covariance) - 1) < 0.5).all()  # loopy, hence not exact


def test_a_later_layer_keeps_the_weights_own_uncertainty_in_the_noise():
    """The product's message is variational: near the exact posterior, but not equal to it."""
    rng = np.random.default_rng(2)
    inputs, targets, design = regression(rng, 1, 5, 0.3)
    prior = some_prior(rng, 1, 5)
    layer = Affine(prior, np.arange(5)[None], (5,), (1,), False, 0.0)
    layer.start(layer.prior, 1)
    for _ in range(50):
        layer.to_inputs[:] = 0
        layer.forward(message(inputs[0], 1e-12), 0)
        layer.backward(message(targets[0], 0.3), 0)
    _, variance = moments(layer.marginal.weight[:, 0])
    exact = np.diag(linear_posterior(design, targets[:, 0], 0.3, *flat(prior))[1])[:5]
    assert ((variance < 0.999 * exact) & (variance > 0.8 * exact)).all()


def test_several_batches_divided_out_again_and_again_hold_each_example_once():
    """A visit iterated to its fixed point gives the exact result, given all other batches."""
    rng = np.random.default_rng(3)
    inputs, targets, design = regression(rng, 12, 3, 0.3)
    prior = some_prior(rng, 1, 3)
    batches = np.arange(12).reshape(4, 3)
    trainer = linear_trainer(prior, inputs, targets, 0.3, batches)
    for _ in range(30):
        for batch in rng.permutation(4):
            trainer.visit(batch, rng.permutation(3), 30, 1.0)
    mean, covariance = linear_posterior(design, targets[:, 0], 0.3, *flat(prior))
    assert np.abs((posterior(trainer)[0] - mean) / np.sqrt(np.diag(covariance))).max() < 1e-9
    anew = sum((said[0] for said in trainer.aggregates), start=trainer.affine[0].prior)
    assert_allclose(trainer.marginals[0].weight, anew.weight, rtol=1e-10)


def test_one_hidden_unit_has_the_exact_posterior_moments_of_its_weights():
    """Without loops and products of unknowns, moments of z determine its weights exactly."""
    prior = Prior(*(np.array(v) for v in ([[0.4]], [[0.7]], [-0.2], [0.3])))
    x, y, noise, slope = 1.3, -0.1, 0.2, 0.1
    layers = build((Linear(1), LeakyReLU(slope)), (1,), [prior])
    trainer = Trainer(layers, KnownNoise(noise), [[x]], [[y]], [[0]])
    trainer.visit(0, [0], 1, 1.0)
    weight, bias = np.meshgrid(np.linspace(-8, 8, 1601), np.linspace(-6, 6, 1601), indexing="ij")
    z = x * weight + bias
    density = (
        norm.pdf(weight, 0.4, 0.7**0.5)
        * norm.pdf(bias, -0.2, 0.3**0.5)
        * norm.pdf(y, np.where(z > 0, z, slope * z), noise**0.5)
    )
    density /= density.sum()
    truth = [
        (mean := (density * value).sum(), (density * value**2).sum() - mean**2)
        for value in (weight, bias)
    ]
    assert_allclose(np.transpose(posterior(trainer)), truth, rtol=1e-6)


def test_two_classes_give_the_target_the_exact_posterior_moments():
    """Only the target: the message to the other class is scaled by a probability."""
    rng = np.random.default_rng(4)
    prior = some_prior(rng, 2, 3)
    x = rng.normal(size=(1, 3))
    layers = build((Linear(2),), (3,), [prior])
    trainer = Trainer(layers, Argmax(target_variance=None), x, [1], [[0]])
    trainer.visit(0, [0], 1, 1.0)
    variance = prior.variance[1] * x[0] ** 2
    spread = variance.sum() + prior.bias_variance[1]
    centre = prior.mean[1] @ x[0] + prior.bias_mean[1]
    other = prior.mean[0] @ x[0] + prior.bias_mean[0]
    width = np.sqrt(0.3 + prior.variance[0] @ x[0] ** 2 + prior.bias_variance[0])

    def moment(power):
        def integrand(z):
            return z**power * norm.pdf(z, centre, spread**0.5) * ndtr((z - other) / width)

        return quad(integrand, centre - 12, centre + 12, epsabs=1e-13)[0]

    mean = moment(1) / moment(0)
    z_variance = moment(2) / moment(0) - mean**2
    gain = prior.variance[1] * x[0] / spread
    found = moments(trainer.marginals[0].weight[:, 1])
    assert_allclose(found[0], prior.mean[1] + gain * (mean - centre), rtol=1e-7)
    assert_allclose(found[1], prior.variance[1] - gain**2 * (spread - z_variance), rtol=1e-7)


def test_predictions_of_one_hidden_layer_have_the_exact_prior_moments():
    rng = np.random.default_rng(5)
    architecture = (Linear(3), LeakyReLU(0.1), Linear(1))
    priors = [some_prior(rng, 3, 2), some_prior(rng, 1, 3)]
    x = rng.normal(size=2)
    trainer = Trainer(build(architecture, (2,), priors), KnownNoise(0.04), [x], [[0.0]], [[0]])
    first, last = priors
    centre = first.mean @ x + first.bias_mean
    spread = np.sqrt(first.variance @ x**2 + first.bias_variance)

    def moment(power, unit):
        def integrand(z):
            return max(z, 0.1 * z) ** power * norm.pdf(z, centre[unit], spread[unit])

        low, high = centre[unit] - 12 * spread[unit], centre[unit] + 12 * spread[unit]
        return quad(integrand, low, 0)[0] + quad(integrand, 0, high)[0]

    hidden = np.array([[moment(power, unit) for unit in range(3)] for power in (1, 2)])
    mean = last.mean[0] @ hidden[0] + last.bias_mean[0]
    second = (last.mean[0] ** 2 + last.variance[0]) @ hidden[1] - last.mean[0] ** 2 @ hidden[0] ** 2
    truth = [mean, second + last.bias_variance[0] + 0.04]
    assert_allclose(trainer.predict(x[None])[0, :, 0], truth, rtol=1e-8)


def test_linear_layers_send_the_printed_messages():
    """Weights N(.3, .2), N(-.1, .1), bias N(.1, .5); back message N(2, .25)."""
    prior = Prior(*(np.array(v) for v in ([[0.3, -0.1]], [[0.2, 0.1]], [0.1], [0.5])))
    later = Affine(prior, np.arange(2)[None], (2,), (1,), False, 0.0)
    later.start(later.prior, 1)
    back = message([2.0], 0.25)
    forward = later.forward(message([1.0, -2.0], [0.5, 1.0]), 0)
    assert_allclose(moments(forward), [[0.6], [1.355]], rtol=1e-12)
    to_inputs = later.backward(back, 0)
    assert to_inputs is not None
    assert_allclose(to_inputs.T, [[0.40476190, 0.23015873], [-0.14611872, 0.10045662]], rtol=5e-8)
    said = later.said()
    assert_allclose(
        said.weight[:, 0].T, [[1.3492063, 1.1904762], [-2.9223744, 4.5662100]], rtol=5e-8
    )
    assert_allclose(said.bias[:, 0], [1.3574661, 0.90497738], rtol=5e-8)
    first = Affine(prior, np.arange(2)[None], (2,), (1,), True, 0.0)
    first.start(first.prior, 1)
    assert_allclose(moments(first.forward(np.array([1.0, -2.0]), 0)), [[0.6], [1.1]], rtol=1e-12)
    assert first.backward(back, 0) is None
    assert_allclose(
        first.said().weight[:, 0].T, [[1.4782609, 0.86956522], [-3.3684211, 4.2105263]], rtol=5e-8
    )


@pytest.mark.parametrize(("stride", "padding"), [(1, 0), (2, 1), (2, (0, 1)), (3, 2)])
def test_convolutions_agree_with_torch(stride, padding):
    rng = np.random.default_rng(7)
    image, prior = rng.normal(size=(2, 7, 6)), some_prior(rng, 3, 2, 3, 3)
    architecture = (Conv2d(3, 3, stride, padding),)
    (layer,) = build(architecture, image.shape, [prior])
    borders = architecture[0].borders
    padded = torch.nn.functional.pad(torch.tensor(image), borders * 2)
    parts = torch.tensor(prior.mean), torch.tensor(prior.bias_mean)
    mean = torch.nn.functional.conv2d(padded, *parts, stride)
    squared = torch.tensor(prior.variance), torch.tensor(prior.bias_variance)
    variance = torch.nn.functional.conv2d(padded**2, *squared, stride)
    found = moments(layer.forward(image, None))
    assert_allclose(found[0], mean, rtol=1e-10)
    assert_allclose(found[1], variance, rtol=1e-10)
    pixels, positions = window(image.shape, 3, stride, borders)
    assert (3, *positions) == tuple(mean.shape)
    rows = rng.normal(size=(2, *pixels.shape))
    gathered, folded = layer._rows(image), layer._folded(rows)
    assert_allclose((folded[0] * image).sum(), (rows[0] * gathered).sum())  # adjoint


def digits_trainer(rng, architecture, train, shape=(64,)) -> Trainer:
    inputs, labels = train
    priors = spectral_prior(architecture, shape, rng)
    batches = np.arange(len(inputs)).reshape(-1, 128)
    inputs = inputs.reshape(-1, *shape)
    return Trainer(build(architecture, shape, priors), Argmax(), inputs, labels, batches)


MLP = (Linear(32), LeakyReLU(0.1), Linear(10))


@pytest.mark.long
def test_a_small_network_reads_digits():
    rng = np.random.default_rng(0)
    train, (inputs, labels) = digits(rng)
    trainer = digits_trainer(rng, MLP, train)
    for epoch, iterations in ((1, 1), (2, 1)):
        trainer.epoch(epoch, [(b, rng.permutation(128)) for b in rng.permutation(10)], iterations)
    assert (trainer.predict(inputs).argmax(1) == labels).mean() >= 0.96


@pytest.mark.long
def test_what_a_batch_said_is_divided_out_before_it_speaks_again():
    """Then precisions level off; they grow without bound if it stays in the marginal."""
    precision = {}
    for divides_out in (True, False):
        rng = np.random.default_rng(0)
        train, _ = digits(rng, slice(256))
        trainer = digits_trainer(rng, MLP, train)
        medians = []
        for _ in range(4):
            for batch in (0, 1):
                if not divides_out:
                    empty = [said * 0.0 for said in trainer.aggregates[batch]]
                    trainer.aggregates[batch] = empty
                trainer.visit(batch, rng.permutation(128), 2, 1.0)
            medians.append(np.median(trainer.marginals[0].weight[1]))
        precision[divides_out] = medians
    assert 0.9 < precision[True][-1] / precision[True][1] < 1.02
    assert precision[False][-1] > 1.15 * precision[False][1]


@pytest.mark.long
def test_a_network_of_convolutions_learns_images():
    rng = np.random.default_rng(0)
    train, (inputs, labels) = digits(rng, slice(256))
    architecture = (Conv2d(4, 3), LeakyReLU(0.1), MaxPool2d(2), Flatten(), Linear(10))
    trainer = digits_trainer(rng, architecture, train, (1, 8, 8))
    trainer.epoch(1, [(0, range(128)), (1, range(128))], 1)
    trainer.epoch(2, [(1, range(128)), (0, range(128))], 1)
    found = trainer.predict(inputs[:200].reshape(-1, 1, 8, 8)).argmax(1)
    assert (found == labels[:200]).mean() > 0.85


def test_updating_marginals_step_by_step_equals_multiplying_all_messages():
    rng = np.random.default_rng(8)
    train, _ = digits(rng, slice(128))
    trainer = digits_trainer(rng, MLP, train)
    trainer.enter(0)
    for n in range(128):
        trainer.update(n, n)
    for layer in trainer.affine:
        stepped = layer.marginal
        layer.end_iteration()
        assert_allclose(stepped.weight, layer.marginal.weight, rtol=1e-9, atol=1e-9)
        assert_allclose(stepped.bias, layer.marginal.bias, rtol=1e-9, atol=1e-9)
