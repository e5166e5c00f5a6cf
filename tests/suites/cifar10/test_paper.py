"""The suite of CIFAR-10, by its declaration."""

from dataclasses import replace
from math import ceil

from bnnbench.engine.declare.description import describe
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.priors import SpectralPrior
from bnnbench.methods.message_passing.rehearsal import steps
from bnnbench.methods.message_passing.schedule import Coupled
from bnnbench.reports.papers.published import table
from bnnbench.suites.cifar10 import SUITES


def test_svhn_is_shown_with_and_without_normalisation_in_the_paper_profile():
    names = [evaluation.condition.name for evaluation in SUITES["paper"].evaluations]
    assert names == ["clean", "ood_svhn", "ood_svhn_unnormalised", "ood_cifar100"]
    metrics = {e.condition.name: e.metrics for e in SUITES["paper"].evaluations}
    assert metrics["ood_svhn"] == metrics["ood_svhn_unnormalised"]


def test_the_report_says_that_images_are_not_normalised():
    titles = {e.condition.name: e.condition.traits.title for e in SUITES["paper"].evaluations}
    assert titles["ood_svhn_unnormalised"] == "out of distribution: SVHN without normalisation"
    assert titles["ood_svhn"] == "out of distribution: SVHN"


def test_every_method_that_table_1_prints_has_a_row_of_its_name():
    labels = {label.casefold() for label in SUITES["paper"].methods}
    assert {printed.method for printed in table("000", "1")} <= labels


def test_message_passing_has_the_papers_rounds_prior_and_noise_in_groups_of_32():
    mp = SUITES["paper"].methods["MP"]
    assert mp == MessagePassing(
        iterations=tuple(ceil(epoch / 2) for epoch in range(1, 26)),
        batch_size=128,
        schedule=Coupled(size=32, damping=0.5, solver_iterations=5, without_own_force=True),
        prior=SpectralPrior("published", "normal", scale=1.0, mean_scale=1.0),
        head="argmax",
        argmax_variance=0.3,
        target_variance=0.1,
        class_probabilities="pairs",
        backend="fused",
    )
    # 169 rounds of 390 batches in four groups and one in three, by the specification of its GPU run
    assert steps(mp, 50_000) == 169 * (390 * 4 + 3) == 264_147
    assert steps(replace(mp, schedule=Coupled(64)), 50_000) == 132_158


def test_the_kernels_are_part_of_a_runs_key_and_no_other_setting_changes():
    mp = SUITES["paper"].methods["MP"]
    assert isinstance(mp, MessagePassing)
    fused, compiled = describe(mp), describe(replace(mp, backend="compiled"))
    assert isinstance(fused, dict)
    assert isinstance(compiled, dict)
    assert {n for n in fused if fused[n] != compiled[n]} == {"backend"}


def test_departures_of_message_passing_are_declared_in_words_that_its_settings_bear_out():
    suite = SUITES["paper"]
    (claim,) = suite.reproduces
    (mp,) = [method for label, method in suite.methods.items() if label == "MP"]
    assert isinstance(mp, MessagePassing)
    words = " ".join(claim.departures)
    assert f"groups of {mp.schedule.size}" in words
    for departure in ("own force", "sums over examples", "normalised by channel", "fused kernels"):
        assert departure in words
