"""The suite of moment accuracy, by its declaration and with everything made small."""

from dataclasses import fields, replace
from itertools import product

import pytest

from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.stand_ins import DigitsAsMnist
from bnnbench.engine.store.store import Store
from bnnbench.methods.fitting.training import learning_rate_factor
from bnnbench.methods.moment_propagation.approximation import Approximation
from bnnbench.methods.moment_propagation.method import MomentPropagation
from bnnbench.methods.moment_propagation.sigmoids_as_bernoulli import SigmoidsAsBernoulli
from bnnbench.methods.moments.covariances.covariance import Covariances
from bnnbench.methods.networks.architectures import (
    AnalyticNorm,
    BatchNorm,
    Conv2d,
    GaussianNoise,
    LogisticBernoulli,
)
from bnnbench.methods.networks.shapes import parameter_count
from bnnbench.metrics import PROBED
from bnnbench.reports.papers.published import table
from bnnbench.suites.moment_accuracy import SUITES
from tests.suites.commands import call


@pytest.mark.parametrize(
    ("profile", "number", "image", "parameters"),
    [
        ("paper", "2", (1, 28, 28), 104_012),
        ("fifty_epochs", "2", (1, 28, 28), 104_012),
        ("cifar10", "3", (3, 32, 32), 1_370_996),
        ("cifar10_five_epochs", "3", (3, 32, 32), 1_370_996),
        ("cifar10_quick", "3", (3, 32, 32), 1_370_996),
        ("statistics", "4", (1, 28, 28), 103_856),
    ],
)
def test_every_printed_case_is_a_data_set_with_the_printed_network(
    profile, number, image, parameters
):
    suite = SUITES[profile]
    printed = {row.dataset for row in table("001", number)}
    assert printed == {case.name for case in suite.cases}
    for case in suite.cases:
        network = suite.architecture_for(case, "AP2")
        assert parameter_count(network, image) == parameters
        norms = sum(isinstance(layer, BatchNorm) for layer in network)
        convolutions = [layer for layer in network if isinstance(layer, Conv2d)]
        assert norms == (0 if profile == "statistics" else len(convolutions))
        assert {layer.bias for layer in convolutions} == {not norms}
        noise = [layer.variance for layer in network if isinstance(layer, GaussianNoise)]
        stated = case.name.partition("-noise")[2]
        assert noise == ([float(stated)] if stated else [])


@pytest.mark.parametrize(
    ("profile", "number"),
    [
        ("paper", "2"),
        ("fifty_epochs", "2"),
        ("cifar10", "3"),
        ("cifar10_five_epochs", "3"),
        ("statistics", "4"),
    ],
)
def test_every_printed_method_is_one_of_the_suite(profile, number):
    labels = {label.casefold() for label in SUITES[profile].methods}
    assert {row.method for row in table("001", number)} <= labels


def test_all_methods_of_a_profile_train_alike():
    for profile in ("quick", "paper", "cifar10", "cifar10_quick"):
        assert len({m.training for m in SUITES[profile].methods.values()}) == 1


@pytest.mark.parametrize(
    ("profile", "epochs", "seeds", "base"),
    [("fifty_epochs", 50, 5, "paper"), ("cifar10_five_epochs", 5, 2, "cifar10")],
)
def test_longer_training_differs_in_its_length_and_in_bernoulli_units(profile, epochs, seeds, base):
    suite, shorter = SUITES[profile], SUITES[base]
    assert suite.seeds == seeds
    assert sorted(c.name for c in suite.cases) == sorted(c.name for c in shorter.cases)
    for case, (label, method) in product(suite.cases, suite.methods.items()):
        longer = replace(shorter.methods[label].training, epochs=epochs)
        assert method == replace(shorter.methods[label], training=longer)
        own = suite.method_for(case, label)
        bernoulli = any(isinstance(layer, LogisticBernoulli) for layer in case.network)
        assert type(own) is (SigmoidsAsBernoulli if bernoulli else Approximation)
        assert {f.name: getattr(own, f.name) for f in fields(own)} == {
            f.name: getattr(method, f.name) for f in fields(method)
        }


def test_a_learning_rate_falls_nearly_tenfold_in_fifty_epochs():
    training = SUITES["fifty_epochs"].methods["AP1"].training
    fall = learning_rate_factor(training.schedule, training.epochs, training.epochs)
    assert 7 < 1 / fall < 10


def test_bernoulli_units_are_trained_in_both_ways():
    suite = SUITES["bernoulli_training"]
    kinds = {label: (type(m), m.training.epochs) for label, m in suite.methods.items()}
    for label in ("AP1", "AP2 paper"):
        assert kinds[f"{label} (sigmoids for 5 epochs)"] == (SigmoidsAsBernoulli, 5)
        assert kinds[f"{label} (trained through AP2 for 50 epochs)"] == (Approximation, 50)


def test_networks_trained_otherwise_differ_in_what_their_label_says():
    suite, paper = SUITES["otherwise"], SUITES["paper"]
    expected = {}
    for label in ("AP1", "AP2 paper"):
        method = paper.methods[label]
        longer = replace(method.training, epochs=20)
        expected[f"{label} (analytic norms)"] = method
        expected[f"{label} (20 epochs)"] = replace(method, training=longer)
        expected[f"{label} (noisy inputs)"] = replace(method, train_with_input_noise=True)
    assert suite.methods == expected
    for case, label in product(paper.cases, expected):
        norm = AnalyticNorm() if "norms" in label else BatchNorm()
        network = tuple(norm if isinstance(x, BatchNorm) else x for x in case.network)
        assert network.count(norm) == 4
        assert suite.architecture_for(case, label) == network


def test_ranks_differ_in_nothing_but_the_number_of_directions():
    suite, paper = SUITES["ranks"], SUITES["paper"]
    ranks = {f"AP2 rank {rank}": Covariances(rank) for rank in (4, 16, 64, 256)}
    for label, method in suite.methods.items():
        assert method == replace(paper.methods["AP2"], covariances=ranks.pop(label, None))
    assert not ranks
    assert suite.methods["AP2 rank 64"] == paper.methods["AP2 rank 64"]
    assert {case.name for case in paper.cases} - {case.name for case in suite.cases} == {
        "mnist-lrelu0.01-dropout0.2",
        "mnist-logistic_bernoulli",
    }


def test_a_small_run_measures_every_layer(tmp_path):
    names = ("mnist-lrelu0.01-noise0.1", "mnist-logistic_bernoulli")
    methods = {n: SUITES["quick"].methods[n] for n in ("AP1", "AP2", "AP2 paper")}
    brief = MomentPropagation(epochs=1, dropout=0.0)
    few = Limited(DigitsAsMnist(), train=64, test=8)
    suite = replace(
        SUITES["quick"],
        cases=tuple(
            replace(case, source=few) for case in SUITES["quick"].cases if case.name in names
        ),
        methods={label: replace(method, training=brief) for label, method in methods.items()},
    )
    answer = call(tmp_path, "--samples", "20", "--data", "stand-in", suite=suite)
    assert answer.code == 0, answer.output + answer.errors
    records = list(Store(tmp_path / "moment_accuracy").records())
    assert len(records) == 6
    for record in records:
        layers = [name for name in record.outcome.scores if name.startswith("layer_")]
        assert layers == [f"layer_{n}" for n in ("1_CA", "2_C", "3_A", "4_C", "5_A", "6_F")]
        measured = {m for scores in record.outcome.scores.values() for m in scores if m in PROBED}
        expected = {"eps_mu", "eps_mu_floor", "kl_class_posterior", "kl_floor"}
        more = set() if record.method == "AP1" else {"eps_sigma", "excluded_share"}
        assert measured == expected | more
        assert "first_100_rows" in record.outcome.scores
