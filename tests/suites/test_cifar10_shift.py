"""The suite of CIFAR under corruption and attack, by its declaration and made small."""

from dataclasses import replace

import pytest

from bnnbench.datasets.conditions.corrupted import ALL_19
from bnnbench.datasets.conditions.traits import families
from bnnbench.engine.declare.attacks import Pgd
from bnnbench.engine.records.record_json import from_json
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.function_space.method import FunctionSpace, WeightSpace
from bnnbench.methods.function_space.models import Dropout as DropoutModel
from bnnbench.methods.function_space.weights import hidden_weights
from bnnbench.methods.mc_dropout import McDropout, with_dropout
from bnnbench.methods.networks.architectures import Dropout, Linear, Residual
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.sgd import Sgd
from bnnbench.reports.papers.published import table
from bnnbench.suites.cifar10_shift import SUITES
from bnnbench.suites.cifar10_shift.settings import EPSILONS
from tests.suites.commands import call

PAPER = SUITES["paper"]


@pytest.mark.parametrize("profile", SUITES)
def test_every_corruption_and_every_epsilon_is_an_evaluation(profile):
    names = [e.condition.name for e in SUITES[profile].evaluations]
    assert len(names) == len(set(names))
    assert {c.name for c in ALL_19} <= set(names)
    conditions = {e.condition.name: e.condition.traits for e in SUITES[profile].evaluations}
    sizes = {family.title: tuple(of.values()) for family, of in families(conditions).items()}
    assert sizes["Gradient signs (FGSM)"] == sizes["Random signs"] == EPSILONS
    assert sizes["Gradient signs (FGSM): pixel clamp"] == EPSILONS
    unbounded = [c for e in SUITES[profile].evaluations if isinstance(c := e.condition, Pgd)]
    assert Pgd(1.0, scale="pixel", clamp=True, steps=10, step=0.25) in unbounded


def test_every_printed_condition_and_method_of_the_paper_has_one_of_ours():
    ours = {e.condition.name for e in PAPER.evaluations}
    ours |= {f"corrupted_{severity}" for severity in range(1, 6)}
    methods = {label.casefold() for label in PAPER.methods}
    for entry in PAPER.reproduces:
        for printed in table(entry.paper, entry.table):
            assert printed.condition in ours
            assert printed.dataset in {case.name for case in PAPER.cases}
            # Numbers of another paper, of a method that this one does not run.
            assert printed.method in methods or printed.method == "subnetwork laplace"
    assert {e.table for e in PAPER.reproduces} == {str(number) for number in range(11, 23)}


def test_the_paper_trains_without_weight_decay_in_function_space():
    for label, method in PAPER.methods.items():
        if isinstance(method, FunctionSpace | WeightSpace):
            assert method.training.weight_decay == 0.0
            assert isinstance(method, FunctionSpace) == label.endswith("fVI")
    assert isinstance(decayed := PAPER.methods["MAP"], Sgd)
    assert decayed.weight_decay == 5e-4
    assert PAPER.methods["Ensemble"] == Ensemble(size=5, member=decayed)


@pytest.mark.parametrize(("label", "rate"), [("MC Dropout", 0.2), ("MC Dropout fVI", 0.1)])
@pytest.mark.parametrize("case", PAPER.cases, ids=lambda case: case.name)
def test_networks_with_dropout_have_the_rate_of_their_method(label, rate, case):
    method = PAPER.methods[label]
    model = method.model if isinstance(method, FunctionSpace) else method
    assert isinstance(model, McDropout | DropoutModel)
    assert model.rate == rate
    network = PAPER.architecture_for(case, label)
    assert with_dropout(network, rate, "hidden") == network
    blocks = [layer for layer in network if isinstance(layer, Residual)]
    assert all(Dropout(rate) in block.body for block in blocks)
    assert isinstance(last := network[-1], Linear)
    assert last.outputs == case.source.classes


def test_random_weights_agree_with_all_convolutions():
    network = TorchNetwork(PAPER.architecture_for(PAPER.cases[0], "Radial"), (3, 32, 32))
    assert [part.shape[0] for part in hidden_weights(network)] == (
        [64] * 5 + [128] * 5 + [256] * 5 + [512] * 5
    )


LABELS = ("Class frequency", "MAP fVI")


@pytest.mark.long
def test_a_small_run_is_scored_under_every_corruption_and_attack(tmp_path):
    quick = SUITES["quick"]
    kept = [c.name for c in ALL_19 if c.severity in (1, 5)] + [
        "clean",
        "fgsm_0.05",
        "fgsm_0.3",
        "sign_noise_0.3",
    ]
    suite = replace(
        quick,
        seeds=1,
        methods={label: quick.methods[label] for label in LABELS},
        own_settings={},
        evaluations=tuple(e for e in quick.evaluations if e.condition.name in kept),
    )
    answer = call(tmp_path, "--data", "stand-in", "--limit", "10", "--no-report", suite=suite)
    assert answer.code == 0, answer.output + answer.errors
    assert "accuracy by severity: Mean over the 19 corruptions\n" in answer.output
    assert "corrupted_fog" not in answer.output
    records = [from_json(p.read_text()) for p in tmp_path.glob("cifar10_shift/runs/*/record.json")]
    assert {r.method for r in records} == set(LABELS)
    for record in records:
        # What is kept of a run is what was predicted, not the means.
        assert set(record.outcome.scores) == set(kept)
    (learned,) = (r.outcome.scores for r in records if r.method == "MAP fVI")
    assert learned["fgsm_0.3"]["nll"] > learned["fgsm_0.05"]["nll"] > learned["clean"]["nll"]
