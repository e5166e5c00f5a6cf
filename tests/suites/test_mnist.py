"""The suite of MNIST, by its declaration and with everything made small."""

from dataclasses import replace

import pytest

from bnnbench.datasets.conditions.out_of_distribution import OutOfDistribution
from bnnbench.engine.records.record_json import from_json
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.schedule import Coupled, GroupSequential
from bnnbench.methods.networks.architectures import Flatten
from bnnbench.methods.networks.catalogue import LEAKY, lenet_000, mlp
from bnnbench.suites.mnist import SUITES
from tests.suites.commands import call


def test_the_paper_profile_has_every_size_with_both_networks():
    suite = SUITES["paper"]
    kinds = {
        (case.source.train, suite.architecture_for(case, "AdamW") == lenet_000())
        for case in suite.cases
    }
    assert kinds == {(n, lenet) for n in (640, 2560, 10240, 60000) for lenet in (True, False)}


@pytest.mark.parametrize("profile", [name for name in SUITES if name != "disjoint"])
def test_name_and_title_say_how_many_images_and_which_network(profile):
    suite = SUITES[profile]
    for case in suite.cases:
        _, size, network = case.name.split("-")
        assert case.source.train == int(size)
        assert case.title.startswith(f"MNIST, {case.source.train:,} images, ")
        hidden = {"mlp": [200], "mlp2": [100, 100], "wide": [2000, 2000]}
        named = {name: (Flatten(), *mlp(widths, 10, LEAKY)) for name, widths in hidden.items()}
        expected = {**named, "lenet": lenet_000()}[network]
        assert case.network == expected


def test_quick_names_are_among_those_of_the_paper_profile():
    names = {profile: {c.name for c in suite.cases} for profile, suite in SUITES.items()}
    assert names["quick"] < names["paper"]


def test_digits_and_clothing_are_scored_for_every_network(tmp_path):
    suite = replace(SUITES["quick"], seeds=1)
    flags = ("--data", "stand-in", "--limit", "60", "--methods", "Class frequency,SGD")
    answer = call(tmp_path, *flags, suite=suite)
    assert answer.code == 0, answer.output + answer.errors
    records = [from_json(p.read_text()) for p in tmp_path.glob("mnist/runs/*/record.json")]
    # Below the limit, both sizes for the perceptron are the same images.
    assert {r.dataset for r in records} == {"mnist-640-mlp", "mnist-2560-lenet"}
    titles = {case.name: case.title for case in suite.cases}
    for record in records:
        assert record.title == titles[record.dataset]
        clean, other = (record.outcome.scores[name] for name in sorted(record.outcome.scores))
        assert {"ece", "ece_paper000", "ece_min_variance", "nll"} <= clean.keys()
        assert 0 <= other["auroc_ood"] <= 1


def test_clothing_is_the_other_data():
    others = [e.condition for e in SUITES["paper"].evaluations]
    assert [c.name for c in others if isinstance(c, OutOfDistribution)] == ["ood_fashion_mnist"]


def test_schedules_differ_in_nothing_else_and_are_timed_one_fit_at_a_time():
    suite = SUITES["schedules"]
    fits = {n: m for n, m in suite.methods.items() if isinstance(m, MessagePassing)}
    assert len({fit.schedule for fit in fits.values()}) == len(fits) == len(suite.methods) - 1
    # Held-out images chose passes and damping for each size.
    shown = SUITES["quick"].methods["MP"]
    alike = {
        replace(fit, schedule=Coupled(64), iterations=shown.iterations) for fit in fits.values()
    }
    assert alike == {shown}
    assert suite.fitted_together == 1
    alone = fits["MP groups of 8 without own force"].schedule
    assert alone == replace(GroupSequential(8), without_own_force=True)
