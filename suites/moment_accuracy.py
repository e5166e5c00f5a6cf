"""Propagated moments beside samples, layer by layer: tables 2 to 4 of paper 001."""

from dataclasses import replace

from bnnbench.datasets.conditions.base import First
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.methods.moment_propagation.approximation import Approximation
from bnnbench.methods.moment_propagation.initialisation import Rescaling
from bnnbench.methods.moment_propagation.method import MomentPropagation
from bnnbench.methods.moment_propagation.untrained import Untrained
from bnnbench.methods.moments.covariances.covariance import Covariances
from bnnbench.methods.moments.rules import Formulas
from bnnbench.methods.networks.architectures import GaussianNoise, LogisticBernoulli, Sigmoid
from bnnbench.methods.networks.catalogue import allconv_001, lenet_001
from bnnbench.suites.engine.command.cli import main
from bnnbench.suites.engine.declare.case import Case
from bnnbench.suites.engine.declare.grid import Evaluation, Reproduces, Suite
from bnnbench.suites.probes.dataset_statistics import DatasetStatistics
from bnnbench.suites.probes.moment_accuracy import MomentAccuracy

TITLE = "Moments propagated through trained networks, beside samples"

# The cases of table 2. Noise is in the units of the inputs, which are standardised here.
LENETS = tuple(
    Case(Mnist(), network, f"mnist-{name}", f"LeNet, {title}")
    for name, title, network in (
        ("lrelu0.01-noise0.0001", "LReLU, noise 0.0001", (GaussianNoise(1e-4), *lenet_001())),
        ("lrelu0.01-noise0.01", "LReLU, noise 0.01", (GaussianNoise(0.01), *lenet_001())),
        ("lrelu0.01-noise0.1", "LReLU, noise 0.1", (GaussianNoise(0.1), *lenet_001())),
        ("lrelu0.01-dropout0.2", "LReLU, dropout 0.2", lenet_001(dropout=0.2)),
        ("logistic_bernoulli", "Bernoulli", lenet_001(activation=LogisticBernoulli())),
        (
            "logistic_transform-noise0.1",
            "transform, noise 0.1",
            (GaussianNoise(0.1), *lenet_001(activation=Sigmoid())),
        ),
    )
)
# The cases of table 4.
STATISTICS_LENETS = tuple(
    Case(Mnist(), network, f"mnist-{name}-statistics", f"LeNet, {title}, data statistics")
    for name, title, network in (
        ("lrelu0.01", "LReLU", lenet_001()),
        ("logistic_transform", "transform", lenet_001(activation=Sigmoid())),
    )
)
# The cases of table 3.
ALLCONVS = tuple(
    Case(Cifar10(), network, f"cifar10-{name}", f"All-conv, {title}")
    for name, title, network in (
        ("lrelu0.01-noise0.01", "LReLU, noise 0.01", (GaussianNoise(0.01), *allconv_001())),
        ("lrelu0.01-dropout0.2", "LReLU, dropout 0.2", allconv_001(dropout=0.2)),
        ("logistic_bernoulli", "Bernoulli", allconv_001(activation=LogisticBernoulli())),
        (
            "logistic_transform-noise0.01",
            "transform, noise 0.01",
            (GaussianNoise(0.01), *allconv_001(activation=Sigmoid())),
        ),
    )
)

# Rate, schedule and batch are the paper's; it does not print the number of epochs.
TRAINING = MomentPropagation(
    learning_rate=1e-3, schedule="exponential", batch_size=128, epochs=20, dropout=0.0
)
PAPER_FORMULAS = Formulas(variance="paper", bernoulli="ap2b")
METHODS = {
    "AP1": Approximation("ap1", training=TRAINING),
    "AP2": Approximation("ap2", training=TRAINING),
    "AP2 paper": Approximation("ap2", PAPER_FORMULAS, training=TRAINING),
    "AP2 rank 64": Approximation("ap2", covariances=Covariances(rank=64), training=TRAINING),
}
ALL_COVARIANCES = Approximation("ap2", covariances=Covariances(), training=TRAINING)
BRIEFLY = replace(TRAINING, epochs=3)

DEPARTURES = (
    "exact moments of rectifiers in AP2; those of AP2 paper are the paper's",
    "inputs are standardised, and noise is in their units; the paper does not state its scaling",
    "networks are trained on all training images, and measured on test images",
    "networks with noisy inputs are trained without that noise",
)

QUICK = Suite(
    name="moment_accuracy",
    title=TITLE,
    profile="quick",
    cases=tuple(replace(case, source=Limited(Mnist(), train=10000, test=1000)) for case in LENETS),
    methods={label: replace(method, training=BRIEFLY) for label, method in METHODS.items()},
    evaluations=(Evaluation(First(100), ("accuracy", "nll", "brier", "ece")),),
    probes=(MomentAccuracy(images=20, samples=4000),),
    reproduces=(Reproduces("001", "2", DEPARTURES),),
)

PAPER = replace(
    QUICK,
    profile="paper",
    cases=LENETS,
    methods=METHODS | {"AP2 covariances": ALL_COVARIANCES},
    probes=(MomentAccuracy(images=100, samples=100_000),),
)

CIFAR10 = replace(
    PAPER,
    profile="cifar10",
    cases=ALLCONVS,
    methods=METHODS,
    probes=(MomentAccuracy(images=20, samples=1000, merge_first=False),),
    reproduces=(Reproduces("001", "3", DEPARTURES),),
)

# What of it a laptop does in half an hour: a forward and a backward pass take 30 ms an image.
CIFAR10_QUICK = replace(
    CIFAR10,
    profile="cifar10_quick",
    cases=tuple(
        replace(case, source=Limited(Cifar10(), train=2000, test=1000)) for case in ALLCONVS
    ),
    methods={label: replace(method, training=BRIEFLY) for label, method in METHODS.items()},
    evaluations=(Evaluation(First(10), ("accuracy", "nll")),),
    probes=(MomentAccuracy(images=8, samples=1000, merge_first=False),),
)

# Table 4: networks before training.
INITIALISATIONS: dict[str, Rescaling] = {"none": "none", "BN": "bn", "AP2": "ap2"}
STATISTICS = replace(
    QUICK,
    title="The statistic of a single pixel beside those of the training set",
    profile="statistics",
    cases=STATISTICS_LENETS,
    methods={
        f"{label}, init {shown}": Untrained(rule, formulas)
        for label, formulas in (("AP2", Formulas()), ("AP2 paper", PAPER_FORMULAS))
        for shown, rule in INITIALISATIONS.items()
    },
    evaluations=(Evaluation(First(100), ("accuracy",)),),
    probes=(DatasetStatistics(),),
    reproduces=(Reproduces("001", "4", DEPARTURES[:2]),),
)

SUITES = {
    "quick": QUICK,
    "paper": PAPER,
    "cifar10": CIFAR10,
    "cifar10_quick": CIFAR10_QUICK,
    "statistics": STATISTICS,
}

if __name__ == "__main__":
    main(SUITES)
