"""Trained networks: torch's own numbers, methods that start from them, rows that choose."""

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.belief_matching import BeliefMatching
from bnnbench.methods.fitting.network_posterior import DiagonalGaussianPosterior, NetworkPosterior
from bnnbench.methods.function_space.method import FunctionSpace
from bnnbench.methods.given import Given
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.label_smoothing import LabelSmoothing
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.laplace.structures import Full
from bnnbench.methods.mc_dropout import McDropout, McDropoutPosterior
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.networks.architectures import (
    BatchNorm,
    Linear,
    MeanAndLogVariance,
    ReLU,
    TorchModule,
)
from bnnbench.methods.networks.modules.trained import start_of
from bnnbench.methods.sgd import Sgd
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.sgld import Sgld
from bnnbench.methods.trajectory.swa import Swa
from bnnbench.methods.trajectory.swag import Swag
from bnnbench.methods.tuning.method import Tuned
from bnnbench.methods.tuning.posterior import TunedPosterior
from tests.methods.networks.modules.examples import Mlp, ResNet
from tests.methods.problems import stream

MODULE = "tests.methods.networks.modules.examples"


def pixels():
    body = nn.Conv2d(2, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    return nn.Sequential(*body, nn.Linear(27, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3))


def trained(module, shape, rows=60):
    """Return a module with random weights and running statistics, in evaluation mode."""
    torch.manual_seed(7)
    module.train()
    with torch.no_grad():
        for _ in range(3):
            module(torch.randn(rows, *shape))
    return module.eval()


def classes(rows, shape, seed=0):
    rng = stream(seed)
    inputs = torch.randn(rows, *shape, generator=rng)
    return Split(inputs, torch.randint(3, (rows,), generator=rng))


def problem_of(module, layer, shape, rows=60, **others):
    start = start_of((layer,), shape, module.state_dict())
    return Problem(classes(rows, shape), Categorical(3), (layer,), start=start, **others)


CONV = (pixels, TorchModule(f"{__name__}:pixels", 3), (2, 8, 8))
RESNET = (ResNet, TorchModule(f"{MODULE}:ResNet", 3), (2, 8, 8))


@pytest.mark.parametrize(("make", "layer", "shape"), [CONV, RESNET], ids=["conv", "resnet"])
def test_a_classifiers_log_loss_is_torchs_own(make, layer, shape):
    module = trained(make(), shape)
    problem = problem_of(module, layer, shape)
    new = classes(900, shape, seed=1)
    with torch.no_grad():
        expected = functional.cross_entropy(module(new.inputs), new.targets, reduction="none")
    posterior = Given().fit(problem, stream(0))
    found = -posterior.predict(new.inputs, stream(1)).log_prob(new.targets)
    torch.testing.assert_close(found.to(expected), expected, rtol=1e-6, atol=1e-6)


def test_a_regression_of_mean_and_log_variance_has_torchs_own_log_loss():
    module = trained(Mlp(outputs=2), (4,))
    network = (TorchModule(f"{MODULE}:Mlp", 2, arguments={"outputs": 2}), MeanAndLogVariance())
    inputs, targets = (
        torch.randn(50, 4, generator=stream(0)),
        torch.randn(50, 1, generator=stream(1)),
    )
    start = start_of(network, (4,), module.state_dict())
    problem = Problem(Split(inputs, targets), Gaussian(), network, start=start)
    posterior = Given().fit(problem, stream(0))
    with torch.no_grad():
        means, logs = module(inputs).chunk(2, 1)
    expected = functional.gaussian_nll_loss(means, targets, logs.exp(), full=True, reduction="none")
    found = -posterior.predict(inputs, stream(1)).log_prob(targets)
    torch.testing.assert_close(found.to(expected), expected[:, 0], rtol=1e-6, atol=1e-6)
    again = AdamW(learning_rate=1e-12, epochs=1).fit(problem, stream(0))
    assert torch.allclose(again.predict(inputs, stream(1)).mean.to(means), means, atol=1e-5)
    with pytest.raises(Unsupported, match="one noise variance"):
        Laplace(Given()).fit(problem, stream(0))


def test_the_noise_of_a_regression_is_the_residual_of_calibration_rows():
    module = trained(Mlp(), (4,))
    layer = TorchModule(f"{MODULE}:Mlp", 1)
    start = start_of((layer,), (4,), module.state_dict())
    train, unseen = (
        Split(torch.randn(40, 4, generator=stream(k)), torch.randn(40, 1, generator=stream(9 + k)))
        for k in (0, 1)
    )
    for calibration, rows in ((None, train), (unseen, unseen)):
        problem = Problem(train, Gaussian(), (layer,), start=start, calibration=calibration)
        with torch.no_grad():
            expected = functional.mse_loss(module(rows.inputs), rows.targets)
        assert float(Given().fit(problem, stream(0)).noise_variance) == pytest.approx(
            float(expected), rel=1e-5
        )
    stated = replace(problem, start=replace(start, noise_variance=0.3))
    assert Given().fit(stated, stream(0)).noise_variance == 0.3


def test_layers_of_this_project_start_at_a_sequential_with_batch_norm():
    twin = trained(
        nn.Sequential(nn.Linear(4, 7), nn.BatchNorm1d(7), nn.ReLU(), nn.Linear(7, 3)), (4,)
    )
    network = (Linear(7), BatchNorm(), ReLU(), Linear(3))
    problem = Problem(classes(30, (4,)), Categorical(3), network)
    problem = replace(problem, start=start_of(network, (4,), twin.state_dict()))
    with torch.no_grad():
        expected = twin(problem.train.inputs).log_softmax(1)
    found = Given().fit(problem, stream(0)).predict(problem.train.inputs, stream(1))
    torch.testing.assert_close(found.log_probs[0], expected, rtol=1e-5, atol=1e-5)


STILL = 1e-9
"""A learning rate that leaves weights where they start."""
DESCENT = Descent(learning_rate=STILL, epochs=2, heteroscedastic=False)


@pytest.mark.parametrize(
    "method",
    [
        AdamW(learning_rate=STILL, epochs=1),
        Sgd(learning_rate=STILL, epochs=1),
        LabelSmoothing(training=AdamW(learning_rate=STILL, epochs=1)),
        BeliefMatching(training=AdamW(learning_rate=STILL, epochs=1)),
        FunctionSpace(training=AdamW(learning_rate=STILL, epochs=1)),
        McDropout(training=AdamW(learning_rate=STILL, epochs=1)),
        McDropout(training=Given()),
        Swa(DESCENT),
        Swag(replace(DESCENT, epochs=4), draws=1),
        Sgld(learning_rate=STILL, epochs=1, draws=1, temperature=0.0, heteroscedastic=False),
        Ivon(learning_rate=STILL, epochs=1),
        Mfvi(learning_rate=STILL, epochs=1),
    ],
    ids=lambda method: type(method).__name__,
)
def test_methods_that_continue_start_at_the_trained_weights(method):
    make, layer, shape = CONV
    problem = problem_of(trained(make(), shape), layer, shape)
    posterior = method.fit(problem, stream(0))
    if isinstance(posterior, DiagonalGaussianPosterior):
        posterior = posterior.at_mean
    if isinstance(posterior, McDropoutPosterior):
        posterior = posterior.trained
    assert isinstance(posterior, NetworkPosterior)
    assert problem.start is not None
    torch.testing.assert_close(posterior.weights[0], problem.start.weights, rtol=1e-4, atol=1e-5)


def test_what_consists_in_training_refuses_a_network_as_it_is():
    make, layer, shape = CONV
    problem = problem_of(trained(make(), shape), layer, shape)
    for method in (LabelSmoothing(training=Given()), BeliefMatching(training=Given()),
                   FunctionSpace(training=Given())):  # fmt: skip
        with pytest.raises(Unsupported, match="consists in training"):
            method.fit(problem, stream(0))
    start = problem.start
    alone = Problem(classes(9, (4,)), Categorical(3), (Linear(5), ReLU(), Linear(3)), start=start)
    with pytest.raises(Unsupported, match="cannot start from a trained network"):
        Hmc().fit(alone, stream(0))
    train = Split(torch.zeros(60, 4), torch.zeros(60, 1))
    regression = Problem(train, Gaussian(), (Linear(5), ReLU(), Linear(1)), start=start)
    with pytest.raises(Unsupported, match="heteroscedastic=False"):
        Swag().fit(regression, stream(0))


def test_without_a_trained_network_the_cure_is_named():
    problem = Problem(classes(9, (4,)), Categorical(3), (Linear(3),))
    with pytest.raises(Unsupported, match=r"Problem\(start=...\), or .* TorchModule"):
        Given().fit(problem, stream(0))


def test_a_module_with_a_file_of_weights_is_a_trained_network(tmp_path):
    make, layer, shape = RESNET
    module = trained(make(), shape)
    torch.save(module.state_dict(), tmp_path / "w.pt")
    layer = replace(layer, weights=str(tmp_path / "w.pt"))
    inputs = classes(20, shape)
    found = Given().fit(Problem(inputs, Categorical(3), (layer,)), stream(0))
    with torch.no_grad():
        expected = module(inputs.inputs).log_softmax(1)
    torch.testing.assert_close(found.predict(inputs.inputs, stream(0)).log_probs[0], expected)
    fresh = replace(layer, fresh=("fc.*",))
    with pytest.raises(Unsupported, match="trained network"):
        Given().fit(Problem(inputs, Categorical(3), (fresh,)), stream(0))


def test_a_prior_precision_is_chosen_by_the_calibration_rows():
    make, layer, shape = CONV
    module = trained(make(), shape)
    candidates = (0.01, 1.0, 100.0, 10_000.0)
    seen = problem_of(module, layer, shape)
    for unseen in (classes(200, shape, seed=1), Split(*_confident(module, shape))):
        problem = replace(seen, calibration=unseen)
        scores = {}
        for candidate in candidates:
            one = Laplace(Given(), Full("last"), (candidate,)).fit(problem, stream(0))
            prediction = one.predict(unseen.inputs, stream(1))
            scores[candidate] = float(prediction.log_prob(unseen.targets).mean())  # pyright: ignore[reportAttributeAccessIssue]
        chosen = Laplace(Given(), Full("last"), candidates).fit(problem, stream(0))
        assert chosen.diagnostics["prior_precision"] == max(scores, key=lambda c: scores[c])
    with pytest.raises(Unsupported, match="has not seen"):
        Laplace(Given(), Full("last"), candidates).fit(seen, stream(0))


def _confident(module, shape):
    """Return rows whose targets are the module's own labels."""
    inputs = torch.randn(200, *shape, generator=stream(3))
    with torch.no_grad():
        return inputs, module(inputs).argmax(1)


def test_a_search_uses_calibration_rows_and_learning_rates_for_trained_weights():
    module = trained(Mlp(outputs=3), (4,))
    layer = TorchModule(f"{MODULE}:Mlp", 3, arguments={"outputs": 3})
    problem = problem_of(module, layer, (4,), calibration=classes(33, (4,), seed=2))
    posterior = Tuned(AdamW(), 4, lengths=(1,), halving=True).fit(problem, stream(0))
    assert isinstance(posterior, TunedPosterior)
    assert posterior.search.rows == (33,)
    rates = [settings["learning_rate"] for settings in posterior.search.settings]
    law = AdamW.space.fields["learning_rate"]
    assert min(map(float, rates)) < law.low  # pyright: ignore[reportArgumentType,reportAttributeAccessIssue]
    assert max(map(float, rates)) < law.high / 10  # pyright: ignore[reportArgumentType,reportAttributeAccessIssue]
    with pytest.raises(Unsupported, match="has not seen"):
        Tuned(AdamW(), 1, lengths=(1,)).fit(replace(problem, calibration=None), stream(0))
