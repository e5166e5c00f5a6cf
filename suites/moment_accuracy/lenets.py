"""Profiles quick, paper and one_image: LeNets on MNIST, table 2 and figure 1 of paper 001."""

from dataclasses import replace
from functools import partial

from bnnbench.datasets.conditions.parts import First
from bnnbench.datasets.cuts.intensities import Intensities
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.networks.architectures import (
    AnalyticNorm,
    BatchNorm,
    GaussianNoise,
    LogisticBernoulli,
    Sigmoid,
)
from bnnbench.methods.networks.catalogue import lenet_001
from bnnbench.suites.following import following
from bnnbench.suites.moment_accuracy.settings import (
    BRIEFLY,
    DEPARTURES,
    METHODS,
    SHARED_DEPARTURES,
    TITLE,
    TRAINING,
)
from bnnbench.suites.probes.moment_accuracy import MomentAccuracy
from bnnbench.suites.probes.output_samples import OutputSamples

# Noise is in input units.
NETWORKS = (
    ("lrelu0.01-noise0.0001", "LReLU, noise 0.0001", (GaussianNoise(1e-4),), lenet_001),
    ("lrelu0.01-noise0.01", "LReLU, noise 0.01", (GaussianNoise(0.01),), lenet_001),
    ("lrelu0.01-noise0.1", "LReLU, noise 0.1", (GaussianNoise(0.1),), lenet_001),
    ("lrelu0.01-dropout0.2", "LReLU, dropout 0.2", (), partial(lenet_001, dropout=0.2)),
    ("logistic_bernoulli", "Bernoulli", (), partial(lenet_001, activation=LogisticBernoulli())),
    (
        "logistic_transform-noise0.1",
        "transform, noise 0.1",
        (GaussianNoise(0.1),),
        partial(lenet_001, activation=Sigmoid()),
    ),
)
LENETS, LENETS_WITHOUT_NORMS, LENETS_WITH_ANALYTIC_NORMS = (
    tuple(
        Case(
            Intensities(Mnist()),
            (*noise, *network(norm=norm)),
            f"mnist-{name}",
            f"LeNet, {title}",
        )
        for name, title, noise, network in NETWORKS
    )
    for norm in (BatchNorm(), None, AnalyticNorm())
)
# Five epochs and these samples take some eight minutes per seed on one core.
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
    reproduces=following("moment_accuracy/quick", "001", ("2",), *DEPARTURES, whole=False),
)

PAPER = replace(
    QUICK,
    profile="paper",
    cases=LENETS,
    methods={label: replace(method, training=FIVE_EPOCHS) for label, method in METHODS.items()},
    # The paper's number of samples: their own error in a mean is 0.025 deviations.
    probes=(MomentAccuracy(images=50, samples=1000),),
    reproduces=following("moment_accuracy/paper", "001", ("2",), *SHARED_DEPARTURES),
)

# The network of figure 1; the paper does not say which image it shows.
ONE_IMAGE = replace(
    PAPER,
    title="The outputs for one image, propagated and sampled",
    profile="one_image",
    cases=(LENETS[2],),
    probes=(OutputSamples(image=0, samples=10_000),),
    seeds=3,
    reproduces=(),
)
