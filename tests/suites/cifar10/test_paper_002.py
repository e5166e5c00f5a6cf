"""Paper 002's profiles of the CIFAR suite: their declaration, and small versions of them."""

import math
from dataclasses import replace

import pytest
import torch

from bnnbench.engine.records.record_json import from_json
from bnnbench.methods.ciber.method import Ciber
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.networks.catalogue import preresnet164, vgg16, wideresnet28_10
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.last_iterate import LastIterate
from bnnbench.methods.trajectory.schedules import HighThenLow
from bnnbench.methods.trajectory.swag import Swag
from bnnbench.reports.papers.published import table
from bnnbench.suites.cifar10 import SUITES
from tests.methods.problems import stream
from tests.suites.commands import call

pytestmark = pytest.mark.long


PROFILES = {name: suite for name, suite in SUITES.items() if name.startswith("paper_002")}
NARROW = {
    "paper_002_vgg16": vgg16(width=2),
    "paper_002_preresnet164": preresnet164(width=2),
    "paper_002_wideresnet28_10": wideresnet28_10(widening=1),
}
# The recipe of SWAG: learning rate, weight decay and the low rate of the iterates.
RECIPES = {
    "paper_002_vgg16": (0.05, 5e-4, 0.01),
    "paper_002_preresnet164": (0.1, 3e-4, 0.01),
    "paper_002_wideresnet28_10": (0.1, 5e-4, 0.05),
}


@pytest.mark.parametrize("profile", PROFILES)
def test_iterates_are_made_and_kept_by_the_papers_recipe(profile):
    methods = PROFILES[profile].methods
    rate, decay, low = RECIPES[profile]
    swag, ciber = methods["SWAG"], methods["CIBER"]
    sgd, kfac = methods["SGD"], methods["KFAC"]
    assert isinstance(swag, Swag)
    descent = swag.training
    assert (descent.learning_rate, descent.weight_decay, descent.epochs) == (rate, decay, 300)
    assert (descent.momentum, descent.batch_size, swag.rank, swag.draws) == (0.9, 128, 20, 30)
    assert isinstance(descent.schedule, HighThenLow)
    factors = [
        descent.schedule.factor(epoch, descent.start_epoch, 300) for epoch in (0, 79, 160, 299)
    ]
    assert [rate * factor for factor in factors] == pytest.approx([rate, rate, low, low])
    assert [epoch for epoch in range(1, 301) if descent.keeps(epoch)] == [*range(161, 301)]
    assert isinstance(ciber, Ciber)
    kept = [epoch for epoch in range(1, 301) if ciber.training.keeps(epoch)]
    assert kept == [*range(165, 301, 5)]
    assert ciber.samples is None
    assert isinstance(sgd, LastIterate)
    falling = sgd.training.schedule
    assert isinstance(falling, HighThenLow)
    assert falling.factor(299, sgd.training.start_epoch, 300) == pytest.approx(0.01)
    assert isinstance(kfac, Laplace)
    assert kfac.training == sgd


@pytest.mark.parametrize("profile", PROFILES)
def test_every_printed_method_and_data_set_is_one_of_ours(profile):
    suite = PROFILES[profile]
    model = profile.removeprefix("paper_002_").partition("28")[0]
    printed = [p for r in suite.reproduces for p in table(r.paper, r.table) if p.model == model]
    assert {p.method for p in printed} == {label.casefold() for label in suite.methods}
    assert {p.dataset for p in printed} == {case.name for case in suite.cases}
    assert {p.metric for p in printed} <= {m for e in suite.evaluations for m in e.metrics}


# Counts from the public code of SWAG.
@pytest.mark.parametrize(
    ("profile", "counts"),
    [
        ("paper_002_vgg16", (15_245_130, 15_291_300)),
        ("paper_002_preresnet164", (1_703_258, 1_726_388)),
        ("paper_002_wideresnet28_10", (36_489_290, 36_546_980)),
    ],
)
def test_the_networks_have_the_published_size_and_a_gradient(profile, counts):
    suite = PROFILES[profile]
    for case, count in zip(suite.cases, counts, strict=True):
        network = TorchNetwork(suite.architecture_for(case, "SWAG"), (3, 32, 32))
        assert network.parameter_count == count
        assert network.output_shape == (10 if case.name == "cifar10" else 100,)
    network = TorchNetwork(suite.architecture_for(suite.cases[0], "SWAG"), (3, 32, 32))
    rng = stream(0)
    swag = suite.methods["SWAG"]
    assert isinstance(swag, Swag)
    weights = network.initial_weights([rng], swag.training.initialisation).requires_grad_()
    buffers = network.initial_buffers(weights.detach())
    image = torch.randn(1, 1, 3, 32, 32, generator=rng)
    logits = network(weights, image, buffers=buffers, training=True, rngs=[rng])
    assert logits.shape == (1, 1, 10)
    (gradient,) = torch.autograd.grad(logits.logsumexp(-1).sum(), weights)
    assert gradient.isfinite().all()
    first = network.parameters[0]  # a signal returns to the first layer
    assert gradient[0, first.offset : first.stop].abs().max() > 1e-8


def shortened(method):
    """Return a method of the suite with two epochs of small batches, with all iterates recorded."""
    brief = {"epochs": 2, "batch_size": 8}
    if isinstance(method, Laplace):
        return replace(
            method, training=shortened(method.training), prior_precisions=(1e3,), draws=2
        )
    if hasattr(method, "training"):
        descent = replace(method.training, learning_rate=1e-3, **brief)
        assert isinstance(descent, Descent)
        kept = replace(descent, start=0.0, every=1)
        return replace(method, training=kept, **({"draws": 2} if hasattr(method, "draws") else {}))
    return replace(method, draws=2, learning_rate=1e-3, **brief)


@pytest.mark.parametrize("profile", PROFILES)
def test_narrow_networks_run_from_end_to_end(profile, tmp_path):
    suite = replace(
        PROFILES[profile],
        seeds=1,
        cases=tuple(replace(case, network=NARROW[profile]) for case in PROFILES[profile].cases),
        methods={label: shortened(m) for label, m in PROFILES[profile].methods.items()},
    )
    answer = call(tmp_path, "--data", "stand-in", "--limit", "8", "--no-report", suite=suite)
    assert answer.code == 0, answer.output + answer.errors
    records = [from_json(p.read_text()) for p in tmp_path.glob("cifar10/runs/*/record.json")]
    assert {r.method for r in records} == set(suite.methods)
    for record in records:
        assert record.outcome.status == "completed"
        assert math.isfinite(record.outcome.scores["clean"]["nll"])
