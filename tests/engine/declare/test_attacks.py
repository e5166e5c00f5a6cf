"""Attacks on predictions with known gradients, and records of runs under attack."""

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from bnnbench.commands.planning.plan import plan
from bnnbench.datasets.base import Categorical, Scaling, Split
from bnnbench.datasets.conditions.base import Condition
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.perturbations import SignNoise
from bnnbench.engine.declare import attacks
from bnnbench.engine.declare.attacks import Fgsm, Pgd, loss_and_gradient
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.packing import unpack
from bnnbench.engine.store.store import Store
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import NotDifferentiable
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.networks.architectures import Flatten, Linear
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import classification, stream
from tests.suites.fakes import Coins, Mean

FLAT = (Flatten(), Linear(3))
PLAIN = Scaling(torch.zeros(()), torch.ones(()))
STEADY = AdamW(learning_rate=0.03, epochs=20, batch_size=8)


def linear(*members):
    """Return the posterior of softmax(W x + b) under equally probable (W, b), in float64."""
    matrices = [torch.tensor(weight, dtype=torch.float64) for weight, _ in members]
    classes, features = matrices[0].shape
    network = TorchNetwork((Linear(classes),), (features,))
    biases = [torch.tensor(bias, dtype=torch.float64) for _, bias in members]
    weights = torch.stack(
        [torch.cat([matrix.flatten(), bias]) for matrix, bias in zip(matrices, biases, strict=True)]
    )
    return NetworkPosterior(network, Categorical(classes), weights, weights[:, :0], None, {})


TWO = linear(
    ([[2.0, -1.0], [0.0, 0.5], [-1.0, 1.0]], [0.1, 0.0, -0.1]),
    ([[-3.0, 1.0], [1.0, 2.0], [0.5, -1.0]], [0.0, 0.2, 0.0]),
)
POINT = Split(torch.tensor([[0.3, -0.2]], dtype=torch.float64), torch.tensor([0]))


def loss(posterior, inputs, targets):
    prediction = posterior.predict(inputs, stream(7))
    return -prediction.log_prob(targets)


def perturbed(attack, posterior, split, scaling=PLAIN, seed=5):
    return attack.perturbed(posterior, split, scaling, stream(seed)).inputs


def test_the_loss_agrees_with_the_mean_probability():
    first, second = (
        torch.softmax(torch.tensor(logits, dtype=torch.float64), 0)[0]
        for logits in ([0.9, -0.1, -0.6], [-1.1, 0.1, 0.35])
    )
    found, gradient = loss_and_gradient(TWO, POINT.inputs, POINT.targets, [1])
    assert float(found) == pytest.approx(-math.log((first + second) / 2), rel=1e-9)
    assert float(found) == pytest.approx(0.9874672939, abs=1e-10)
    assert gradient.tolist() == [pytest.approx([-0.2313, 0.4344], abs=1e-4)]


@pytest.mark.parametrize(("size", "expected"), [(0.05, 1.0206432), (0.1, 1.0525931),
                                                (0.3, 1.1342445)])  # fmt: skip
def test_one_step_of_two_networks_follows_their_mixture(size, expected):
    moved = perturbed(Fgsm(size), TWO, POINT)
    assert float(loss(TWO, moved, POINT.targets)) == pytest.approx(expected, abs=1e-7)


def test_many_steps_of_two_networks_end_in_another_corner():
    moved = perturbed(Pgd(0.3, steps=20, step=1 / 6, random_start=False), TWO, POINT)
    assert moved.tolist() == [pytest.approx([0.2, 0.1], abs=1e-12)]
    assert float(loss(TWO, moved, POINT.targets)) == pytest.approx(1.1701271, abs=1e-7)


WEIGHTS = [[0.7, -1.2, 0.4], [-0.3, 0.5, 2.0]]
BINARY = linear((WEIGHTS, [0.1, -0.2]))


@pytest.mark.parametrize(
    "attack",
    [Fgsm(0.25), Pgd(0.25, steps=30), Pgd(0.25, steps=30, restarts=3)],
    ids=["fgsm", "pgd", "restarts"],
)
def test_a_linear_margin_falls_by_the_size_times_the_sum_of_weights(attack):
    rows = torch.randn(20, 3, generator=stream(1), dtype=torch.float64)
    split = Split(rows, torch.arange(20) % 2)
    apart = torch.tensor(WEIGHTS, dtype=torch.float64).diff(dim=0).neg().squeeze(0)
    margins = (rows @ apart + 0.3) * (1 - 2 * split.targets) - 0.25 * apart.abs().sum()
    expected = torch.log1p(torch.exp(-margins))
    found = loss(BINARY, perturbed(attack, BINARY, split), split.targets)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


def images():
    """Return a small split of standardised images, with all intensities in [0, 1]."""
    pixels = torch.rand(9, 2, 4, 4, generator=stream(1)).round(decimals=1)
    scaling = Scaling(
        torch.tensor([0.5, 0.3]).view(2, 1, 1), torch.tensor([0.2, 0.4]).view(2, 1, 1)
    )
    return Split(scaling.apply(pixels), torch.arange(9) % 3), scaling


def fitted(method):
    return method.fit(classification(shape=(4,)), stream(1))


@pytest.fixture(scope="module")
def dropout():
    return fitted(McDropout(rate=0.3, draws=5, training=STEADY))


@pytest.fixture(scope="module")
def variational():
    return fitted(Mfvi(learning_rate=0.03, epochs=20, batch_size=8, draws=6))


@pytest.fixture(scope="module")
def tested():
    return classification(seed=0, rows=60).train


BOTH = (Fgsm(0.1, "pixel", clamp=True), Pgd(0.1, "pixel", clamp=True, steps=6, step=0.4))


@pytest.mark.parametrize("attack", BOTH, ids=["fgsm", "pgd"])
def test_a_size_of_pixels_is_one_of_intensities_and_clamped_ones_stay_images(attack):
    split, scaling = images()
    problem = classification(shape=(2, 4, 4), architecture=FLAT)
    posterior = STEADY.fit(problem, stream(1))
    moved = perturbed(attack, posterior, split, scaling)
    pixels, original = scaling.invert(moved), scaling.invert(split.inputs)
    assert (pixels - original).abs().max() == pytest.approx(0.1, abs=1e-6)
    assert pixels.min() > -1e-6
    assert pixels.max() < 1 + 1e-6
    free = perturbed(replace(attack, clamp=False), posterior, split, scaling)
    assert scaling.invert(free).max() > 1 + 1e-3
    unmoved = perturbed(replace(attack, size=0.0), posterior, split, scaling)
    assert torch.equal(unmoved, split.inputs)


@pytest.mark.parametrize("attack", [Fgsm(0.2), Pgd(0.2, steps=4, step=0.3, random_start=False)])
def test_points_are_attacked_alike_in_any_order_and_number(attack, dropout, tested, monkeypatch):
    whole = perturbed(attack, dropout, tested)
    order = torch.randperm(len(tested), generator=stream(3))
    torch.testing.assert_close(perturbed(attack, dropout, tested.rows(order)), whole[order])
    monkeypatch.setattr(attacks, "POINTS_AT_ONCE", 7)
    torch.testing.assert_close(perturbed(attack, dropout, tested), whole)


@pytest.mark.parametrize("attack", [Fgsm(0.2), Pgd(0.2, steps=4, step=0.3, restarts=2)])
def test_equal_streams_give_equal_attacks_and_nothing_else_is_touched(attack, variational, tested):
    state, before = torch.get_rng_state(), tested.inputs.clone()
    weights = variational.at_mean.weights.clone()
    first = perturbed(attack, variational, tested)
    assert torch.equal(first, perturbed(attack, variational, tested))
    assert not first.requires_grad
    assert not torch.equal(first, perturbed(attack, variational, tested, seed=6))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(tested.inputs, before)
    assert torch.equal(variational.at_mean.weights, weights)
    assert variational.at_mean.weights.grad is None


def test_averaging_calls_averages_the_probabilities_of_all_their_draws(variational, tested):
    seeds = [11, 12, 13]
    found, gradient = loss_and_gradient(variational, tested.inputs, tested.targets, seeds)
    draws = torch.cat(
        [variational.predict(tested.inputs, stream(s)).log_probs.double() for s in seeds]
    )
    own = draws.gather(2, tested.targets.expand(len(draws), -1)[..., None]).squeeze(2)
    torch.testing.assert_close(found, -own.exp().mean(0).log(), rtol=1e-5, atol=1e-6)
    each = [loss_and_gradient(variational, tested.inputs, tested.targets, [s]) for s in seeds]
    weights = torch.stack([(-alone).exp() for alone, _ in each])
    weights = weights / weights.sum(0)
    expected = sum(w[:, None] * g for w, (_, g) in zip(weights, each, strict=True))
    torch.testing.assert_close(gradient.double(), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("method", ["dropout", "variational"])
def test_the_loss_under_fresh_draws_rises_with_the_size_and_with_the_means(method, tested, request):
    posterior = request.getfixturevalue(method)
    sizes = (0.0, 0.2, 0.4, 0.8, 1.6)
    found = {
        kind: [
            float(loss(posterior, perturbed(kind(size), posterior, tested), tested.targets).mean())
            for size in sizes
        ]
        for kind in (Fgsm, Pgd)
    }
    for losses in found.values():
        assert all(later > earlier + 0.01 for earlier, later in itertools.pairwise(losses))
    assert found[Pgd][2] > found[Fgsm][2] - 0.02
    chance = SignNoise(0.4).draw(torch.empty_like(tested.inputs), stream(8)) * 0.4
    by_chance = float(loss(posterior, tested.inputs + chance, tested.targets).mean())
    assert found[Fgsm][2] > by_chance + 0.05


def test_a_sure_prediction_in_single_precision_still_has_a_gradient():
    sure = linear(([[30.0, 0.0], [0.0, 0.0]], [0.0, 0.0]))
    single = replace(sure, weights=sure.weights.float(), buffers=sure.buffers.float())
    inputs, targets = torch.tensor([[1.0, 0.0]]), torch.tensor([0])
    assert float(single.predict(inputs, stream(1)).log_probs[0, 0, 0]) == 0.0
    _, gradient = loss_and_gradient(single, inputs, targets, [1])
    assert float(gradient[0, 0]) == pytest.approx(-30 * math.exp(-30), rel=1e-3)


def test_a_gradient_that_is_not_finite_is_not_followed():
    broken = replace(BINARY, weights=BINARY.weights * torch.inf)
    with pytest.raises(NotDifferentiable, match="not finite at 2 test points"):
        loss_and_gradient(broken, torch.zeros(2, 3).double(), torch.tensor([0, 1]), [1])


def test_names_hold_all_settings_and_attacks_are_conditions():
    conditions = [Fgsm(0.1), Fgsm(0.1, averages=2), Pgd(0.1), Pgd(0.1, "pixel", True, 1, 20, 0.25),
                  Pgd(0.1, random_start=False)]  # fmt: skip
    assert all(isinstance(condition, Condition) for condition in conditions)
    assert [condition.name for condition in conditions] == [
        *("fgsm_0.1", "fgsm_averages2_0.1", "pgd_0.1"),
        *("pgd_pixel_clamp_steps20_step0.25_0.1", "pgd_no_random_start_0.1"),
    ]


def test_what_makes_no_sense_is_refused():
    for wrong in ({"steps": 0}, {"restarts": 0}, {"step": 0.0}, {"averages": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Pgd(0.1, **wrong)
    with pytest.raises(ValueError, match="all the same"):
        Pgd(0.1, restarts=2, random_start=False)


METRICS = ("accuracy", "nll")
SUITE = Suite(
    name="attacked",
    title="Attacked",
    cases=(Case(Coins(), (Linear(2),)),),
    methods={"AdamW": STEADY, "Mean": Mean()},
    evaluations=tuple(
        Evaluation(condition, METRICS)
        for condition in (Clean(), Fgsm(0.0), Fgsm(1e-30), Fgsm(0.5), Pgd(0.5, steps=3, step=0.5))
    ),
)


def carried_out(suite, tmp_path):
    store = Store(tmp_path)
    outcomes = {}
    for task in plan(suite, store, "cpu").tasks:
        for outcome in execute(task):
            store.write(outcome.record, outcome.predictions)
            outcomes[outcome.record.method] = outcome
    return store, outcomes


def test_runs_are_scored_under_attack_from_what_is_kept(tmp_path):
    _, outcomes = carried_out(SUITE, tmp_path)
    record = outcomes["AdamW"].record
    assert set(record.outcome.scores) == {e.condition.name for e in SUITE.evaluations}
    assert record.outcome.scores["fgsm_0.5"]["nll"] > record.outcome.scores["clean"]["nll"] + 0.1
    assert record.outcome.scores["fgsm_0"] == record.outcome.scores["clean"] | {
        "zero_gradient": 0.0
    }
    prediction, targets = unpack(outcomes["AdamW"].predictions)["fgsm_0.5"]
    assert torch.equal(targets, Coins().load(0).test.targets)
    nll = -prediction.log_prob(targets).mean()
    assert record.outcome.scores["fgsm_0.5"]["nll"] == pytest.approx(float(nll))
    assert record.outcome.not_scored == {}


def test_a_posterior_without_gradient_is_not_scored_and_has_not_failed(tmp_path):
    store, outcomes = carried_out(SUITE, tmp_path)
    record = store.read(outcomes["Mean"].record.key)
    assert (record.outcome.status, set(record.outcome.scores)) == ("completed", {"clean"})
    assert set(record.outcome.not_scored) == set(record.circumstances.condition_origins) - {"clean"}
    assert "Constant has no log_probs" in record.outcome.not_scored["fgsm_0.5"]


def test_finished_runs_stay_finished_and_new_metrics_are_scored_without_an_attack(
    tmp_path, monkeypatch
):
    store, outcomes = carried_out(SUITE, tmp_path)
    monkeypatch.setattr(attacks, "loss_and_gradient", None)
    more = replace(
        SUITE,
        evaluations=tuple(replace(e, metrics=(*METRICS, "brier")) for e in SUITE.evaluations),
    )
    assert plan(more, store, "cpu").left == 0
    scores = store.read(outcomes["AdamW"].record.key).outcome.scores
    assert all("brier" in scores[e.condition.name] for e in SUITE.evaluations)
    other = replace(SUITE, evaluations=(*SUITE.evaluations, Evaluation(Fgsm(0.6), METRICS)))
    assert plan(other, store, "cpu").left == 2


def test_sizes_of_an_attack_have_draws_in_common_and_others_than_the_attack_had(tmp_path):
    suite = replace(SUITE, methods={"MFVI": Mfvi(epochs=2, batch_size=8, draws=4)})
    _, outcomes = carried_out(suite, tmp_path)
    kept: Any = unpack(outcomes["MFVI"].predictions)
    none, hardly, clean = (kept[n][0].log_probs for n in ("fgsm_0", "fgsm_1e-30", "clean"))
    assert torch.equal(none, hardly)
    assert not torch.equal(none, clean)


def test_active_learning_refuses_attacks():
    from bnnbench.suites.active_learning import SUITES

    with pytest.raises(ValueError, match="cannot be scored under attacks"):
        replace(SUITES["quick"], evaluations=(Evaluation(Fgsm(0.1), ("rmse",)),))
