"""Heads on frozen features: features computed once, then any method for the last layers."""

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.features import Features
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ciber.method import Ciber
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.laplace.kfac import Kfac
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.laplace.structures import Full
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.pbp.method import Pbp
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.schedules import HighThenLow
from bnnbench.methods.trajectory.swag import Swag
from bnnbench.metrics import CLASSIFICATION, JOINT

# No setting was searched: rates and epochs come from the quick profile of the CIFAR-10 suite, or
# are defaults.
ADAMW = AdamW(learning_rate=3e-3, weight_decay=1e-2, epochs=15, batch_size=50)
TRAJECTORY = Descent(learning_rate=0.03, epochs=15, batch_size=50, schedule=HighThenLow(0.5))

QUICK = Suite(
    name="features",
    title="Frozen features of CIFAR-10: any head by any method",
    profile="quick",
    cases=(
        Case(Features(), mlp([], 10), "linear head", "CIFAR-10, features, a linear head"),
        Case(Features(), mlp([32], 10), "hidden layer", "CIFAR-10, features, 32 hidden units"),
    ),
    methods={
        "Class frequency": Marginal(),
        "AdamW": ADAMW,
        "Ensemble": Ensemble(size=5, member=ADAMW),
        "MC dropout": McDropout(rate=0.1, draws=16, training=ADAMW, where="every"),
        "MFVI": Mfvi(learning_rate=1e-2, epochs=15, batch_size=50, draws=16),
        "IVON": Ivon(learning_rate=0.1, initial_hessian=30.0, epochs=15, batch_size=50, draws=16),
        "SWAG": Swag(TRAJECTORY, draws=16),
        "CIBER": Ciber(TRAJECTORY, samples=None),
        "KFAC": Laplace(ADAMW, Kfac()),
        "Laplace last layer": Laplace(ADAMW, Full("last")),
        "PBP": Pbp(epochs=5),
        "Message passing": MessagePassing(iterations=(1,) * 5),
    },
    evaluations=(Evaluation(Clean(), (*CLASSIFICATION, *JOINT)),),
    seeds=3,
)

SUITES = {"quick": QUICK}
