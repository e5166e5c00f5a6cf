"""Benchmarks: each module declares one as a table of profiles, `SUITES`."""

if __name__ == "suites":  # `python -m suites.cifar10`, in a checkout
    from bnnbench.checkout import run_as_bnnbench

    run_as_bnnbench(__name__)

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bnnbench.wording import did_you_mean


@dataclass(frozen=True)
class Entry:
    """A suite's facts for its `--help` and the list of suites, available without imports."""

    title: str
    profiles: tuple[str, ...]
    sampled: bool = False
    """True if `--samples` sets the number of samples."""
    listed: bool = True
    """False for searches for settings that other suites ship; lists of suites leave them out."""


SUITES: Mapping[str, Entry] = {
    "active_learning": Entry(
        "Active learning: rows chosen by predictive variance against rows chosen at random",
        ("quick", "paper", "toolbox_prior"),
    ),
    "active_learning_mnist": Entry(
        "Active learning of digits: BALD and predictive entropy against random acquisition",
        ("quick", "full"),
    ),
    "cifar10": Entry(
        "CIFAR-10: accuracy, calibration and out-of-distribution detection",
        (
            "quick",
            "tuned_quick",
            "disjoint",
            "paper",
            "paper_002_vgg16",
            "paper_002_preresnet164",
            "paper_002_wideresnet28_10",
            "ablation",
            "analytic_dropout",
            "analytic_dropout_quick",
        ),
    ),
    "cifar10_shift": Entry(
        "CIFAR under corruption and attack: inference in function space and in weight space",
        ("quick", "paper", "neighbour", "cifar100"),
    ),
    "features": Entry(
        "A trained network with a new head: CIFAR-10, features of a convolutional network",
        ("quick", "tuned_quick"),
    ),
    "few_samples": Entry(
        "Number of draws for a posterior predictive, by Monte Carlo and by integrals over a box",
        ("quick",),
    ),
    "message_ladder": Entry(
        "The error of each approximation in message passing, given the exact posterior",
        ("quick", "wide"),
    ),
    "mnist": Entry(
        "MNIST: a perceptron and a LeNet learn from few and from many images",
        ("quick", "paper", "tuned_quick", "disjoint", "schedules", "wide"),
    ),
    "moment_accuracy": Entry(
        "Moments propagated through trained networks, compared with samples",
        (
            "quick",
            "paper",
            "fifty_epochs",
            "bernoulli_training",
            "one_image",
            "cifar10",
            "cifar10_five_epochs",
            "cifar10_quick",
            "statistics",
            "training_time",
            "without_norms",
            "otherwise",
            "ranks",
        ),
        sampled=True,
    ),
    "rotated_mnist": Entry(
        "Rotated MNIST: variational inference in function space and in weight space",
        ("quick", "paper", "index_sets", "precisions"),
    ),
    "stability": Entry(
        "MNIST under noise and attack: sigmoid, batch norm, Bernoulli units by moments",
        ("quick", "paper"),
    ),
    "stl10_transfer": Entry(
        "Transfer from CIFAR-10 to the nine shared classes of STL-10",
        ("quick", "paper", "paper_preresnet164", "paper_wideresnet28_10"),
    ),
    "tables": Entry(
        "Regression on twenty tables with equal tuning: likelihood, error and intervals",
        ("quick", "quick_classes", "regression", "classification", "sizes", "sizes_classes"),
    ),
    "toy": Entry(
        "Noisy cubics: distance to the posterior predictive of HMC",
        (
            *("quick", "paper", "gap", "depth", "coverage", "coverage_paper"),
            "coverage_by_position",
        ),
    ),
    "truth": Entry(
        "Distance to certified posteriors, and excess risk under known data distributions",
        ("quick", "full", "tanh", "oracles", "oracle_classes"),
    ),
    "two_moons": Entry("Two moons: priors on functions and on weights", ("quick", "paper")),
    "uci": Entry(
        "UCI regression: error, likelihood and intervals of small networks",
        (
            *("quick", "paper", "paper_002", "paper_002_reference", "paper_002_quoted"),
            *("large", "large_seeds", "paper_002_large", "paper_002_large_quoted"),
            *("gap", "deduplicated"),
            *("tuned_quick", "league", "league_large", "tuned", "tuned_noise", "tuned_blocks"),
            "scoringbench",
        ),
    ),
    "uci_classification": Entry(
        "Classification of tables: likelihood, rare classes and calibration of small networks",
        ("quick", "tuned_quick", "tuned_more", "full"),
    ),
    "searches.cifar10": Entry(
        "Held-out scores of candidate settings for the quick profile of the CIFAR-10 suite",
        ("quick",),
        listed=False,
    ),
    "searches.mnist": Entry(
        "Held-out scores of candidate settings for the MNIST suite",
        ("quick", "schedules"),
        listed=False,
    ),
    "searches.sine": Entry(
        "Held-out scores of candidate settings for the noisy sines of the toy suite",
        ("quick",),
        listed=False,
    ),
    "searches.uci_classification": Entry(
        "Held-out scores of candidate settings for the classification of tables",
        ("quick", "laplace"),
        listed=False,
    ),
    "searches.uci": Entry(
        "Held-out scores of candidate settings for the UCI suite",
        ("quick", "trajectories", "laplace", "variational", "large", "large_faster"),
        listed=False,
    ),
}
"""Module in this folder → its declaration."""


LISTED: Mapping[str, Entry] = {name: entry for name, entry in SUITES.items() if entry.listed}
"""The suites that compare methods, as `bnnbench --help` lists them."""


def unknown(name: str, commands: Iterable[str]) -> str:
    """Return a sentence with the alternatives to an unknown suite or command `name`."""
    hint = did_you_mean(name, [*SUITES, *commands]).capitalize()
    choices = f"Choose one of {', '.join(dict.fromkeys([*LISTED, *commands]))}."
    return f"{name!r} is not a suite or a command. {hint and f'{hint} '}{choices}"
