"""Propagated moments compared with samples, layer by layer: tables 2 to 4 and figure 1 of paper
001."""

from bnnbench.suites.moment_accuracy.ablations import OTHERWISE, RANKS, WITHOUT_NORMS
from bnnbench.suites.moment_accuracy.allconvs import CIFAR10, CIFAR10_QUICK
from bnnbench.suites.moment_accuracy.lenets import ONE_IMAGE, PAPER, QUICK
from bnnbench.suites.moment_accuracy.longer import (
    BERNOULLI_TRAINING,
    CIFAR10_FIVE_EPOCHS,
    FIFTY_EPOCHS,
)
from bnnbench.suites.moment_accuracy.statistics import STATISTICS, TRAINING_TIME

SUITES = {
    "quick": QUICK,
    "paper": PAPER,
    "fifty_epochs": FIFTY_EPOCHS,
    "bernoulli_training": BERNOULLI_TRAINING,
    "one_image": ONE_IMAGE,
    "cifar10": CIFAR10,
    "cifar10_five_epochs": CIFAR10_FIVE_EPOCHS,
    "cifar10_quick": CIFAR10_QUICK,
    "statistics": STATISTICS,
    "training_time": TRAINING_TIME,
    "without_norms": WITHOUT_NORMS,
    "otherwise": OTHERWISE,
    "ranks": RANKS,
}
