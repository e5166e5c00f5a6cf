"""Profiles cifar10 and cifar10_quick: all-convolutional networks, table 3 of paper 001."""

from dataclasses import replace
from functools import partial

from bnnbench.datasets.conditions.parts import First
from bnnbench.datasets.cuts.intensities import Intensities
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.methods.networks.architectures import (
    BatchNorm,
    GaussianNoise,
    LogisticBernoulli,
    Sigmoid,
)
from bnnbench.methods.networks.catalogue import allconv_001
from bnnbench.suites.following import following
from bnnbench.suites.moment_accuracy.lenets import PAPER
from bnnbench.suites.moment_accuracy.settings import BRIEFLY, DEPARTURES, METHODS, SHARED_DEPARTURES
from bnnbench.suites.probes.moment_accuracy import MomentAccuracy

NORMED = partial(allconv_001, norm=BatchNorm())
ALLCONVS = tuple(
    Case(Intensities(Cifar10()), network, f"cifar10-{name}", f"All-conv, {title}")
    for name, title, network in (
        ("lrelu0.01-noise0.01", "LReLU, noise 0.01", (GaussianNoise(0.01), *NORMED())),
        ("lrelu0.01-dropout0.2", "LReLU, dropout 0.2", NORMED(dropout=0.2)),
        ("logistic_bernoulli", "Bernoulli", NORMED(activation=LogisticBernoulli())),
        (
            "logistic_transform-noise0.01",
            "transform, noise 0.01",
            (GaussianNoise(0.01), *NORMED(activation=Sigmoid())),
        ),
    )
)

# Three epochs take half an hour on one core, with binary units an hour and a quarter.
CIFAR10 = replace(
    PAPER,
    profile="cifar10",
    cases=ALLCONVS,
    methods={label: replace(method, training=BRIEFLY) for label, method in METHODS.items()},
    evaluations=(Evaluation(First(200), ("accuracy", "nll")),),
    probes=(MomentAccuracy(images=20, samples=1000, merge_first=False),),
    reproduces=following("moment_accuracy/cifar10", "001", ("3",), *SHARED_DEPARTURES),
)

# A fifth of the images and fewer samples: half an hour on two cores.
CIFAR10_QUICK = replace(
    CIFAR10,
    profile="cifar10_quick",
    cases=tuple(
        replace(case, source=Limited(case.source, train=10000, test=1000)) for case in ALLCONVS
    ),
    evaluations=(Evaluation(First(100), ("accuracy", "nll")),),
    probes=(MomentAccuracy(images=8, samples=1000, merge_first=False),),
    reproduces=following(
        "moment_accuracy/cifar10_quick",
        "001",
        ("3",),
        *DEPARTURES,
        "networks are trained on 10,000 images for three epochs",
        whole=False,
    ),
)
