"""Profiles analytic_dropout and analytic_dropout_quick: dropout by moments and by samples."""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.held_out import HeldOut
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.methods.moment_propagation.method import MomentPropagation
from bnnbench.methods.networks.catalogue import allconv_001
from bnnbench.metrics import CLASSIFICATION
from bnnbench.suites.cifar10.paper import PAPER

# Figure 4 of paper 001, which prints no numbers: dropout after every activation by moments
# (AP2), by samples (tested with means) or not at all. All start as batch norm would leave them,
# except NORMALISED, which starts and stays normalised by moments. Adam, batches of 128,
# learning rate 0.001 · 0.96^k; the paper's curves are for held-out images.
PLAIN = MomentPropagation(
    training="ap1", prediction="ap1", dropout=0.0, initialisation="bn", epochs=50
)
SAMPLED = replace(PLAIN, training="sample", dropout=0.2)
ANALYTIC = replace(PLAIN, training="ap2", prediction="ap2", dropout=0.2)
NORMALISED = replace(ANALYTIC, initialisation="ap2", norm="ap2")
DROPOUTS = {
    "No dropout": PLAIN,
    "Dropout 0.2": SAMPLED,
    "Dropout 0.3": replace(SAMPLED, dropout=0.3),
    "AP2 dropout 0.2": ANALYTIC,
    "AP2 dropout 0.3": replace(ANALYTIC, dropout=0.3),
    "AP2 dropout 0.2, normalised": NORMALISED,
    "AP2 dropout 0.3, normalised": replace(NORMALISED, dropout=0.3),
}
ANALYTIC_DROPOUT = replace(
    PAPER,
    title="CIFAR-10: analytic dropout",
    profile="analytic_dropout",
    cases=(Case(HeldOut(Cifar10(), share=0.1), allconv_001()),),
    methods=DROPOUTS,
    evaluations=(Evaluation(Clean(), CLASSIFICATION),),
    seeds=1,
    reproduces=(),
)
# A narrow network on few images, with enough updates to overfit them: minutes on a laptop.
ANALYTIC_DROPOUT_QUICK = replace(
    ANALYTIC_DROPOUT,
    profile="analytic_dropout_quick",
    cases=(
        Case(HeldOut(Limited(Cifar10(), train=2500), share=0.2), allconv_001(channels=(16, 32))),
    ),
    methods={
        label: replace(method, epochs=15, batch_size=50) for label, method in DROPOUTS.items()
    },
    seeds=2,
)
