"""The suite of stability, by its declaration and with everything made small."""

from dataclasses import replace

import pytest

from bnnbench.datasets.conditions.traits import families
from bnnbench.engine.declare.attacks import Attack
from bnnbench.engine.records.record_json import from_json
from bnnbench.methods.moment_propagation.method import MomentPropagation
from bnnbench.methods.networks.architectures import BatchNorm, Linear, LogisticBernoulli, Sigmoid
from bnnbench.suites.stability import SUITES
from tests.suites.commands import call


@pytest.mark.parametrize("profile", SUITES)
def test_networks_have_one_hidden_layer_of_100_units_of_the_kind_that_is_named(profile):
    suite = SUITES[profile]
    for label in suite.methods:
        network = suite.architecture_for(suite.cases[0], label)
        assert [layer.outputs for layer in network if isinstance(layer, Linear)] == [100, 10]
        unit = LogisticBernoulli if label.startswith("Bernoulli") else Sigmoid
        assert sum(isinstance(layer, unit) for layer in network) == 1
        norms = sum(isinstance(layer, BatchNorm) for layer in network)
        assert norms == 2 * ("batch norm" in label)


def test_the_bernoulli_network_assumes_an_input_variance_of_a_tenth_and_no_dropout():
    method = SUITES["paper"].methods["Bernoulli AP2"]
    assert isinstance(method, MomentPropagation)
    assert (method.input_variance, method.dropout, method.prediction) == (0.1, 0.0, "ap2")
    assert (method.learning_rate, method.batch_size, method.schedule) == (1e-3, 128, "exponential")


def test_the_attack_of_the_paper_is_of_unclipped_standardised_inputs():
    attacks = [e.condition for e in SUITES["paper"].evaluations if isinstance(e.condition, Attack)]
    assert {(a.scale, a.clamp) for a in attacks} == {("standardised", False)}
    conditions = {e.condition.name: e.condition.traits for e in SUITES["paper"].evaluations}
    sizes = {family.title: list(of.values()) for family, of in families(conditions).items()}
    steps = "Projected gradient steps (PGD): steps20 step0.25"
    assert sizes["Gradient signs (FGSM)"] == sizes[steps] == sizes["Random signs"]


LABELS = ("Sigmoid", "Sigmoid, batch norm", "Bernoulli AP2")
CONDITIONS = ("clean", "noise_1", "fgsm_0.05", "fgsm_0.15", "fgsm_0.3", "sign_noise_0.3")


def test_methods_are_scored_under_noise_and_under_attack(tmp_path):
    suite = SUITES["quick"]
    suite = replace(
        suite,
        seeds=1,
        methods={label: replace(suite.methods[label], epochs=2) for label in LABELS},
        own_architectures={label: suite.own_architectures[label] for label in LABELS[1:]},
        evaluations=tuple(e for e in suite.evaluations if e.condition.name in CONDITIONS),
    )
    answer = call(tmp_path, "--data", "stand-in", "--limit", "60", "--no-report", suite=suite)
    assert answer.code == 0, answer.output + answer.errors
    assert "accuracy by ε: Gradient signs (FGSM)" in answer.output
    records = [from_json(p.read_text()) for p in tmp_path.glob("stability/runs/*/record.json")]
    assert {r.method for r in records} == set(suite.methods)
    for record in records:
        assert set(record.outcome.scores) == {e.condition.name for e in suite.evaluations}
        assert record.outcome.not_scored == {}
        losses = [record.outcome.scores[c]["nll"] for c in ("clean", *CONDITIONS[2:5])]
        assert losses == sorted(losses)
        assert record.outcome.scores["fgsm_0.3"]["zero_gradient"] == 0.0
        assert (
            record.outcome.scores["fgsm_0.3"]["nll"]
            > record.outcome.scores["sign_noise_0.3"]["nll"]
        )
