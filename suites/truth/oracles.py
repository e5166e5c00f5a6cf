"""Profiles oracles and oracle_classes: real inputs, targets drawn from a stated distribution.

A fold is one drawn function, and the known distribution replaces the test set. `bnnbench truth
list` shows the families. Settings are those of `suites.uci` and `suites.uci_classification`.
"""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.official.uci import Uci
from bnnbench.datasets.oracles.drawn import Drawn
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.networks.priors import FixedPrecision
from bnnbench.suites.probes.oracle import OracleScores
from bnnbench.suites.truth.known.recipes import CONFIDENT
from bnnbench.suites.truth.posteriors import EVERY, QUICK, RECTIFIED
from bnnbench.suites.uci.settings import METHODS as OF_REALS
from bnnbench.suites.uci_classification.settings import METHODS as OF_CLASSES

# Networks that learn functions of a process have no correct prior.
NETWORKS = Drawn(Uci("yacht"), "yacht-networks")
PROCESS = Drawn(Uci("concrete"), "concrete-process")
LABELLED = Drawn(Uci("energy"), "energy-classes")

FUNCTIONS = replace(
    QUICK,
    title="Excess risk and epistemic variance under the targets' data distribution",
    profile="oracles",
    cases=(
        Case(NETWORKS, mlp([50], 1), prior=FixedPrecision(1.0)),
        Case(PROCESS, mlp([50], 1)),
    ),
    methods=RECTIFIED | {"GP": OF_REALS["GP"]},
    probes=(OracleScores(),),
    folds=20,
    reference=None,
)
AIMING = ("HMC 1 chain", "HMC short", "MAP ensemble of 10", "Laplace full")
CLASSIFIERS = (
    "AdamW", "AdamW (tempered)", "Label smoothing", "MC dropout", "Ensemble",
    "Ensemble (tempered)", "MFVI", "SWAG", "IVON", "SGLD", "Laplace last layer", "KFAC",
    "CIBER (last)", "Moment propagation",
)  # fmt: skip
CLASSES = replace(
    FUNCTIONS,
    profile="oracle_classes",
    cases=(Case(LABELLED, mlp([50], 3), prior=CONFIDENT),),
    methods={label: EVERY[label] for label in AIMING}
    | {label: OF_CLASSES[label] for label in CLASSIFIERS},
    evaluations=(Evaluation(Clean(), ("nll", "accuracy", "ece", "brier")),),
)
