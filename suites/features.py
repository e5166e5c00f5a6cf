"""A trained network with a new head: features computed once, then any method for the layers after.

The features come from `datasets.cuts.backbone`, and heads learn from 2,000 images that it has not
seen. Images of other classes go through the same network to be detected.
"""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.out_of_distribution import FeaturesOutOfDistribution
from bnnbench.datasets.cuts.features import Features
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.cifar100 import Cifar100
from bnnbench.datasets.official.svhn import Svhn
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.belief_matching import BeliefMatching
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.libraries.sklearn_boosting import SklearnBoosting
from bnnbench.methods.libraries.sklearn_forest import SklearnForest
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.trajectory.cyclical_sgld import CyclicalSgld
from bnnbench.metrics import CLASSIFICATION, JOINT, OUT_OF_DISTRIBUTION
from bnnbench.suites.uci_classification.settings import ADAMW, METHODS
from bnnbench.suites.uci_classification.tuned import TEMPERED, TUNED, TUNED_QUICK

SHIPPED = (
    *("Class frequency", "AdamW", "AdamW (tempered)", "Ensemble", "MC dropout", "MFVI", "IVON"),
    *("SWAG", "CIBER (last)", "Laplace KFAC", "Laplace last layer", "PBP", "MP"),
)

HEADS = (([], "linear head", "a linear head"), ([50], "hidden layer", "50 hidden units"))

# Settings are those of the classification of tables, and none was searched on these features.
QUICK = Suite(
    name="features",
    title="A trained network with a new head: CIFAR-10, features of a convolutional network",
    profile="quick",
    cases=tuple(
        Case(Features(test=2000), mlp(hidden, 10), name, f"CIFAR-10, features, {title}")
        for hidden, name, title in HEADS
    ),
    methods={label: METHODS[label] for label in SHIPPED},
    evaluations=(
        Evaluation(Clean(), (*CLASSIFICATION, *JOINT)),
        Evaluation(FeaturesOutOfDistribution(Limited(Cifar100(), test=1000)), OUT_OF_DISTRIBUTION),
        Evaluation(FeaturesOutOfDistribution(Limited(Svhn(), test=1000)), OUT_OF_DISTRIBUTION),
    ),
    seeds=3,
    fitted_together=3,
)

# HMC is not searched: its chains take longer than a search of another method.
TUNED_QUICK = replace(
    QUICK,
    profile="tuned_quick",
    title="A trained network with a new head: features of CIFAR-10 with equal tuning",
    cases=tuple(
        Case(Features(), mlp(hidden, 10), name, f"CIFAR-10, features, {title}")
        for hidden, name, title in HEADS
    ),
    methods=dict(TUNED_QUICK.methods)
    | {
        "Belief matching": replace(TUNED, method=BeliefMatching()),
        "cSGLD": replace(TUNED, method=CyclicalSgld()),
        "MFVI (tempered)": replace(TEMPERED, method=METHODS["MFVI"]),
        "Laplace last layer (tempered)": replace(TEMPERED, method=METHODS["Laplace last layer"]),
        "Ensemble of label smoothing": replace(
            TUNED, method=Ensemble(5, replace(METHODS["Label smoothing"], training=ADAMW))
        ),
        "HMC": Hmc(draws=500),
        "Random forest": replace(TUNED, method=SklearnForest()),
        "Boosting": replace(TUNED, method=SklearnBoosting()),
    },
    evaluations=(
        Evaluation(Clean(), (*CLASSIFICATION, *JOINT)),
        Evaluation(FeaturesOutOfDistribution(Cifar100()), OUT_OF_DISTRIBUTION),
        Evaluation(FeaturesOutOfDistribution(Svhn()), OUT_OF_DISTRIBUTION),
    ),
)

SUITES = {"quick": QUICK, "tuned_quick": TUNED_QUICK}
