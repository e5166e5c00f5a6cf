"""The suite of CIFAR-10, by its declaration."""

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
