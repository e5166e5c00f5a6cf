"""Profile training_time: the relative times of a training step in appendix D.1 of paper 001."""

from dataclasses import replace

from bnnbench.datasets.conditions.first import First
from bnnbench.datasets.cuts.intensities import Intensities
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Reproduces
from bnnbench.methods.moment_propagation.method import MomentPropagation
from bnnbench.methods.networks.architectures import BatchNorm
from bnnbench.methods.networks.catalogue import lenet_001
from bnnbench.suites.moment_accuracy.lenets import QUICK
from bnnbench.suites.probes.training_step import TrainingStep

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
