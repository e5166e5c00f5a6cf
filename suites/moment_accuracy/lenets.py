"""Profiles quick and paper: LeNets on MNIST, table 2 of paper 001."""

from dataclasses import replace
from functools import partial

from bnnbench.datasets.conditions.first import First
from bnnbench.datasets.cuts.intensities import Intensities
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.methods.networks.architectures import (
    BatchNorm,
    GaussianNoise,
    LogisticBernoulli,
    Sigmoid,
)
from bnnbench.methods.networks.catalogue import lenet_001
from bnnbench.suites.engine.declare.case import Case
from bnnbench.suites.engine.declare.grid import Evaluation, Reproduces, Suite
from bnnbench.suites.moment_accuracy.settings import (
    BRIEFLY,
    DEPARTURES,
    METHODS,
    TITLE,
    TRAINING,
)
from bnnbench.suites.probes.moment_accuracy import MomentAccuracy

NORMED = partial(lenet_001, norm=BatchNorm())
# Noise is in the units of the inputs.
LENETS = tuple(
    Case(Intensities(Mnist()), network, f"mnist-{name}", f"LeNet, {title}")
    for name, title, network in (
        ("lrelu0.01-noise0.0001", "LReLU, noise 0.0001", (GaussianNoise(1e-4), *NORMED())),
        ("lrelu0.01-noise0.01", "LReLU, noise 0.01", (GaussianNoise(0.01), *NORMED())),
        ("lrelu0.01-noise0.1", "LReLU, noise 0.1", (GaussianNoise(0.1), *NORMED())),
        ("lrelu0.01-dropout0.2", "LReLU, dropout 0.2", NORMED(dropout=0.2)),
        ("logistic_bernoulli", "Bernoulli", NORMED(activation=LogisticBernoulli())),
        (
            "logistic_transform-noise0.1",
            "transform, noise 0.1",
            (GaussianNoise(0.1), *NORMED(activation=Sigmoid())),
        ),
    )
)
# Five epochs and these samples take a core some eight minutes a seed.
FIVE_EPOCHS = replace(TRAINING, epochs=5)

QUICK = Suite(
    name="moment_accuracy",
    title=TITLE,
    profile="quick",
    cases=tuple(
        replace(case, source=Limited(case.source, train=10000, test=1000)) for case in LENETS
    ),
    methods={label: replace(method, training=BRIEFLY) for label, method in METHODS.items()},
    evaluations=(Evaluation(First(100), ("accuracy", "nll", "brier", "ece")),),
    probes=(MomentAccuracy(images=20, samples=4000),),
    reproduces=(Reproduces("001", "2", DEPARTURES, whole=False),),
)

PAPER = replace(
    QUICK,
    profile="paper",
    cases=LENETS,
    methods={label: replace(method, training=FIVE_EPOCHS) for label, method in METHODS.items()},
    # As many samples as the paper has: their own error in a mean is 0.025 deviations.
    probes=(MomentAccuracy(images=50, samples=1000),),
    reproduces=(Reproduces("001", "2", DEPARTURES),),
)
