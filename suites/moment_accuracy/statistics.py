"""Profiles statistics and training_time: table 4 and appendix D.1 of paper 001.

Networks before training, and the relative times of a training step.
"""

from dataclasses import replace

from bnnbench.datasets.conditions.parts import First
from bnnbench.datasets.cuts.intensities import Intensities
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Reproduces
from bnnbench.methods.moment_propagation.initialisation import Rescaling
from bnnbench.methods.moment_propagation.method import MomentPropagation
from bnnbench.methods.moment_propagation.untrained import Untrained
from bnnbench.methods.moments.rules import Formulas
from bnnbench.methods.networks.architectures import BatchNorm, Sigmoid
from bnnbench.methods.networks.catalogue import lenet_001
from bnnbench.suites.moment_accuracy.lenets import QUICK
from bnnbench.suites.moment_accuracy.settings import EXACT_FORMULAS, PAPER_FORMULAS
from bnnbench.suites.probes.dataset_statistics import DatasetStatistics
from bnnbench.suites.probes.training_step import TrainingStep

STATISTICS_LENETS = tuple(
    Case(
        Intensities(Mnist()),
        network,
        f"mnist-{name}-statistics",
        f"LeNet, {title}, data statistics",
    )
    for name, title, network in (
        ("lrelu0.01", "LReLU", lenet_001()),
        ("logistic_transform", "transform", lenet_001(activation=Sigmoid())),
    )
)

INITIALISATIONS: dict[str, Rescaling] = {"none": "none", "BN": "bn", "AP2": "ap2"}
DEPARTURES = (
    EXACT_FORMULAS,
    "inputs are intensities in [0, 1]; the paper does not state its scaling",
)
STATISTICS = replace(
    QUICK,
    title="Single-pixel statistics compared with statistics of the training set",
    profile="statistics",
    cases=STATISTICS_LENETS,
    methods={
        f"{label}, init {shown}": Untrained(rule, formulas)
        for label, formulas in (("AP2", Formulas()), ("AP2 paper", PAPER_FORMULAS))
        for shown, rule in INITIALISATIONS.items()
    },
    evaluations=(Evaluation(First(100), ("accuracy",)),),
    probes=(DatasetStatistics(),),
    reproduces=(Reproduces("001", "4", DEPARTURES),),
)


# Moments need a variance to propagate: that of noise at the inputs.
PLAIN = MomentPropagation(training="ap1", prediction="ap1", dropout=0.0, epochs=1)
AP2 = MomentPropagation(dropout=0.0, input_variance=0.01, epochs=1)

TRAINING_TIME = replace(
    QUICK,
    title="Time of a training step through moments beside a plain one",
    profile="training_time",
    cases=(
        Case(
            Intensities(Mnist()),
            lenet_001(),
            "mnist-training_time",
            "LeNet, time of a training step",
        ),
    ),
    methods={
        "Standard training": PLAIN,
        "Batch normalisation": PLAIN,
        "Inference=AP2": AP2,
        "Inference=AP2, norm=AP2": replace(AP2, norm="ap2"),
    },
    own_architectures={"Batch normalisation": lenet_001(norm=BatchNorm())},
    evaluations=(Evaluation(First(100), ("accuracy",)),),
    probes=(TrainingStep(plain=lenet_001()),),
    seeds=5,
    reproduces=(
        Reproduces(
            "001",
            "App D.1",
            (
                "the LeNet of table 2 without norms; the paper does not say which network it timed",
                "times are of the machine in the record; the paper does not state its machine",
            ),
        ),
    ),
)
