"""Methods on custom networks: those that need only gradients, and those that refuse."""

import math
from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import InferenceDiverged, Problem, Unsupported
from bnnbench.methods.ciber.method import Ciber
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.function_space.method import FunctionSpace
from bnnbench.methods.function_space.models import Map
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.laplace.kfac import Kfac
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.laplace.structures import Diagonal, Full
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.networks.architectures import Linear, TorchModule
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.networks.modules.building import built
from bnnbench.methods.networks.modules.rule import template_of
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.pbp.method import Pbp
from bnnbench.methods.sgd import Sgd
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.sgld import Sgld
from bnnbench.methods.trajectory.swa import Swa
from bnnbench.methods.trajectory.swag import Swag
from bnnbench.metrics import METRICS
from tests.methods.networks.modules.examples import (
    CLASSIFIER,
    MLP,
    RESNET,
    Mlp,
    ResNet,
    Undisciplined,
    adapted_mlp,
    attention,
    tokens,
)
from tests.methods.problems import classification, images, regression, stream, streams

ADAMW = AdamW(learning_rate=0.02, epochs=8, batch_size=16)
DESCENT = Descent(learning_rate=0.02, epochs=8, batch_size=16)


def pictures(seed: int = 0, architecture=RESNET, rows: int = 60) -> Problem:
    return replace(images(seed, rows), architecture=architecture)


def test_a_module_and_the_same_network_of_ours_have_equal_scores(tmp_path, monkeypatch):
    """Both start at the same weights and use all rows in every batch."""
    module = Mlp()
    torch.save(module.state_dict(), tmp_path / "start.pt")
    start = torch.cat([p.detach().flatten() for p in module.parameters()])
    layer = TorchModule(Mlp, 1, weights=f"{tmp_path}/start.pt")
    method = AdamW(learning_rate=0.01, epochs=60, batch_size=100)
    train, test = regression(0, 80), regression(1, 200).train
    scores = []
    for architecture in ((layer,), mlp([16, 8], outputs=1)):
        if architecture != (layer,):
            monkeypatch.setattr(TorchNetwork, "initial_weights", lambda *_: start[None].clone())
        posterior = method.fit(replace(train, architecture=architecture), stream(3))
        prediction = posterior.predict(test.inputs, stream(4))
        scores.append(
            [METRICS[n].score(prediction, test.targets) for n in ("log_likelihood", "rmse")]
        )
    for module_score, our_score in zip(*scores, strict=True):
        torch.testing.assert_close(module_score, our_score, rtol=1e-4, atol=1e-5)


METHODS = {
    "AdamW": ADAMW,
    "SGD": Sgd(learning_rate=0.1, epochs=8, batch_size=16),
    "Ensemble": Ensemble(2, ADAMW),
    "MC dropout": McDropout(0.1, 4, ADAMW),
    "MFVI": Mfvi(learning_rate=0.02, epochs=8, batch_size=16, draws=4),
    "IVON": Ivon(learning_rate=0.1, initial_hessian=20.0, epochs=30, batch_size=16, draws=4),
    "SWA": Swa(training=DESCENT),
    "SWAG": Swag(training=DESCENT, draws=4),
    "SGLD": Sgld(epochs=30, batch_size=16, learning_rate=0.05, temperature=0.01, draws=4),
    "fVI": FunctionSpace(model=Map(), training=ADAMW),
    "Laplace KFAC": Laplace(ADAMW, Kfac()),
    "Laplace last layer": Laplace(ADAMW, Full("last")),
}


@pytest.mark.long
@pytest.mark.parametrize("name", METHODS)
def test_a_residual_network_learns_under(name):
    architecture = RESNET
    if name == "MC dropout":
        architecture = (TorchModule(ResNet, 3, arguments={"dropout": 0.2}),)
    problem = pictures(architecture=architecture)
    posterior = METHODS[name].fit(problem, stream(0))
    prediction = posterior.predict(problem.train.inputs, stream(1))
    loss = -float(prediction.log_prob(problem.train.targets).mean())
    assert loss < 0.75 * math.log(3), f"{loss:.3f} nats"
    again = METHODS[name].fit(problem, stream(0)).predict(problem.train.inputs, stream(1))
    assert torch.equal(prediction.log_probs, again.log_probs)


@pytest.mark.long
@pytest.mark.parametrize("name", ["AdamW", "Ensemble", "MFVI", "IVON", "SWAG"])
def test_fits_together_equal_separate_fits_bit_for_bit(name):
    problems = [pictures(0), pictures(1)]
    together = METHODS[name].fit_many(problems, streams(5, 6))
    for problem, seed, posterior in zip(problems, (5, 6), together, strict=True):
        assert not isinstance(posterior, InferenceDiverged)
        alone = METHODS[name].fit(problem, stream(seed))
        points = problem.train.inputs
        found, expected = (p.predict(points, stream(7)) for p in (posterior, alone))
        assert torch.equal(found.log_probs, expected.log_probs)


def test_training_agrees_with_a_plain_loop_with_batch_norm(tmp_path):
    """One batch per epoch, so that the order of rows has no effect."""
    torch.manual_seed(2)
    module = ResNet()
    torch.save(module.state_dict(), tmp_path / "start.pt")
    layer = TorchModule(ResNet, 3, weights=f"{tmp_path}/start.pt")
    problem = pictures(architecture=(layer,), rows=32)
    fitted = AdamW(0.01, 0.05, epochs=6, batch_size=32, schedule="constant").fit(problem, stream(0))
    optimiser = torch.optim.AdamW(module.parameters(), 0.01, weight_decay=0.05)
    for _ in range(6):
        optimiser.zero_grad()
        functional.cross_entropy(module(problem.train.inputs), problem.train.targets).backward()
        optimiser.step()
    points = pictures(3).train.inputs
    expected = module.eval()(points).log_softmax(-1)
    found = fitted.predict(points, stream(1)).log_probs[0]
    torch.testing.assert_close(found, expected.detach(), rtol=1e-3, atol=1e-3)
    for part in fitted.network.buffers:
        own = fitted.buffers[0, part.offset : part.stop]
        expected = module.state_dict()[part.name_in_step]
        torch.testing.assert_close(own, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["AdamW", "SGD", "IVON", "MFVI", "SWAG"])
def test_a_frozen_part_is_not_trained_and_not_counted(name):
    layer = TorchModule(ResNet, 3, frozen=("*", "!fc.*"))
    problem = pictures(architecture=(layer,))
    before = {n: t.clone() for n, t in built(layer, 0).state_dict().items()}
    posterior = METHODS[name].fit(problem, stream(0))
    point = getattr(posterior, "at_mean", posterior)
    assert point.weights.shape[1] == point.network.parameter_count == 8 * 3 + 3
    trained = template_of(layer, torch.device("cpu"), torch.float32).module.state_dict()
    for tensor_name, tensor in trained.items():
        assert torch.equal(tensor, before[tensor_name]), tensor_name


def test_a_pretrained_network_with_a_new_head_predicts_as_its_features_do(tmp_path):
    """The backbone's features with our linear head: AdamW gives the same answer on either."""
    torch.manual_seed(4)
    backbone = ResNet().eval()
    for norm in [m for m in backbone.modules() if isinstance(m, torch.nn.BatchNorm2d)]:
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2.0)
    torch.save(backbone.state_dict(), tmp_path / "backbone.pt")
    body = TorchModule(
        "tests.methods.networks.modules.examples:ResNet",
        outputs=3,
        weights=f"{tmp_path}/backbone.pt",
        frozen=("*",),
    )
    problem, test = pictures(architecture=(body, Linear(3))), pictures(1).train.inputs
    with torch.no_grad():
        features, test_features = backbone(problem.train.inputs), backbone(test)
    split = Split(features, problem.train.targets)
    of_features = ADAMW.fit(Problem(split, Categorical(3), (Linear(3),)), stream(0))
    whole = ADAMW.fit(problem, stream(0))
    torch.testing.assert_close(
        whole.predict(test, stream(1)).log_probs,
        of_features.predict(test_features, stream(1)).log_probs,
        rtol=1e-4,
        atol=1e-5,
    )


def test_adapters_start_as_the_base_and_learn():
    layer = TorchModule(adapted_mlp, 1, frozen=("*", "!*lora*"))
    problem = regression(0, 60, architecture=(layer,))
    network = TorchNetwork((layer,), (4,))
    start = network.initial_weights([stream(0)])
    base = built(layer, 0)
    base.eval()
    torch.testing.assert_close(network(start, problem.train.inputs[None])[0],
                               base(problem.train.inputs).detach())  # fmt: skip
    fitted = AdamW(0.05, epochs=60).fit(problem, stream(0))
    error = (fitted.predict(problem.train.inputs, stream(1)).mean - problem.train.targets).square()
    with torch.no_grad():
        before = (base(problem.train.inputs) - problem.train.targets).square()
    assert float(error.mean()) < 0.5 * float(before.mean())


REFUSED = {
    "PBP": (Pbp(), regression(architecture=MLP), "Mlp"),
    "message passing": (MessagePassing(), classification(architecture=CLASSIFIER), "Mlp"),
    "CIBER": (Ciber(), regression(architecture=MLP), "Mlp"),
    "HMC with batch norm": (Hmc(draws=4, chains=1), pictures(), "batch norm bn1"),
    "MC dropout without dropout": (McDropout(), regression(architecture=MLP), "Mlp"),
    "a noise variance of its own": (Swag(), regression(architecture=MLP), "Mlp"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_method_cannot_do_with_a_module_is_said_by_name(name):
    method, problem, named = REFUSED[name]
    with pytest.raises(Unsupported, match=rf"TorchModule.*{named}"):
        method.fit(problem, stream(0))


@pytest.mark.long
def test_hamiltonian_monte_carlo_of_a_small_module_agrees_with_our_network():
    settings = Hmc(draws=150, thinning=1, warmup=100, chains=1, prior_precision=1.0)
    module = TorchModule("torch.nn:Linear", 1, arguments={"in_features": 4, "out_features": 1})
    predictions = []
    for architecture in ((module,), (Linear(1),)):
        problem = regression(0, 30, noise_std=0.3, architecture=architecture)
        posterior = settings.fit(problem, stream(1))
        predictions.append(posterior.predict(regression(2, 5).train.inputs, stream(2)))
    module_mean, our_mean = (p.mean for p in predictions)
    spread = predictions[1].means.std(0)
    assert ((module_mean - our_mean).abs() < 0.3 * spread).all()


@pytest.mark.parametrize("structure", [Kfac(), Diagonal(), Full("last")], ids=str)
def test_laplace_around_a_module_is_that_around_our_network(structure):
    """At the same weights, hooks and our layers give the same curvature."""
    problem = classification(0, 40, architecture=CLASSIFIER)
    mode = AdamW(0.02, epochs=20).fit(problem, stream(0))
    ours = replace(mode, network=TorchNetwork(mlp([16, 8], outputs=3), (4,)))
    found = structure.spectrum(mode, problem.train.inputs).eigenvalues
    expected = structure.spectrum(ours, problem.train.inputs).eigenvalues
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


def test_the_curvature_of_a_convolution_and_of_positions_agrees_with_automatic_differentiation():
    for layer, problem in (
        (RESNET[0], pictures(rows=8)),
        (TorchModule(tokens, 3), classification(0, 8)),
    ):
        problem = replace(problem, architecture=(layer,))
        mode = AdamW(0.02, epochs=3).fit(problem, stream(0))
        recorder = Diagonal().recorder(mode.network)
        points = problem.train.inputs[:5]
        outputs = recorder.outputs(mode.weights, mode.buffers, points)
        directions = torch.eye(3).expand(5, 3, 3)
        entries = recorder.entries(outputs, directions)
        jacobian = recorder.flat([entry.jacobian() for entry in entries])

        def at(weights, mode=mode, points=points):
            return mode.network(weights[None], points[None], buffers=mode.buffers)[0]

        expected = torch.func.jacrev(at)(mode.weights[0])[..., recorder.indices(points.device)]
        torch.testing.assert_close(jacobian, expected, rtol=1e-4, atol=1e-5)


def test_laplace_names_weights_that_it_does_not_cover():
    problem = regression(architecture=(TorchModule(adapted_mlp, 1),), noise_std=0.3)
    Laplace(ADAMW, Kfac()).fit(problem, stream(0))
    with pytest.raises(Unsupported, match=r"attention.*in_proj_\w+ of a MultiheadAttention"):
        Kfac().recorder(TorchNetwork((TorchModule(attention, 3),), (4,)))


def test_learned_noise_and_several_draws_of_a_regression():
    problem = regression(0, 80, architecture=MLP)
    fitted = AdamW(0.02, epochs=80).fit(problem, stream(0))
    assert fitted.likelihood == Gaussian(None)
    assert 0.1 < fitted.diagnostics["noise_std"] < 0.5


def test_a_module_with_counters_and_replaced_buffers_trains():
    """Such buffers change between the forward and the backward pass."""
    problem = regression(0, 60, architecture=(TorchModule(Undisciplined, 1),))
    fitted = AdamW(0.02, epochs=10, batch_size=20).fit(problem, stream(0))
    counts = {part.name_in_step: part.offset for part in fitted.network.buffers}
    assert float(fitted.buffers[0, counts["norm.num_batches_tracked"]]) == 30
    assert float(fitted.buffers[0, counts["largest"]]) > 0
