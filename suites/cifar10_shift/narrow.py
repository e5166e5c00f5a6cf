"""Profiles quick and cifar100: a narrow network on few images."""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.datasets.official.cifar100 import Cifar100
from bnnbench.engine.declare.attacks import Fgsm, Pgd
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.engine.declare.surrogate import Surrogate
from bnnbench.methods.function_space.method import FunctionSpace, WeightSpace
from bnnbench.methods.function_space.models import Dropout, Map, MeanField, Members
from bnnbench.methods.function_space.radial import Radial
from bnnbench.methods.function_space.rank1 import Rank1
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.networks.catalogue import cnn_000
from bnnbench.metrics import DIRICHLET
from bnnbench.suites.cifar10 import settings as cifar10
from bnnbench.suites.cifar10.quick import ON_DIGITS
from bnnbench.suites.cifar10.quick import QUICK as CIFAR10_QUICK
from bnnbench.suites.cifar10_shift.paper import PAPER
from bnnbench.suites.cifar10_shift.settings import ATTACKS, CORRUPTED, EPSILONS, METRICS

# The narrow network and, if available, the settings of suites.cifar10, with half its draws, since
# there are 123 test conditions. Function space is trained like its counterpart in weight space,
# except for the decay; no settings were searched for it.
KNOWN = CIFAR10_QUICK.methods
ADAMW = replace(cifar10.ADAMW, weight_decay=0.0)
FASTER = replace(ADAMW, learning_rate=1e-2)
SMALLER = Surrogate("adamw", cifar10.ADAMW, cifar10.NARROW)
FEWER = (
    Evaluation(Clean(), METRICS + DIRICHLET[1:]),
    *CORRUPTED,
    *(Evaluation(attack, METRICS) for attack in ATTACKS),
    *(Evaluation(Pgd(size, steps=10, step=0.25), METRICS) for size in (0.1, 0.3)),
)
RATE, DRAWS = 0.1, 8
QUICK = replace(
    PAPER,
    profile="quick",
    cases=(Case(Limited(Cifar10(), train=3000, test=2000), cifar10.NARROW),),
    own_settings={"digits_as_cifar10": {"SGD": ON_DIGITS["SGD"]}},
    methods={
        "Class frequency": Marginal(),
        "MAP": cifar10.ADAMW,
        "MAP fVI": FunctionSpace(Map(), training=ADAMW),
        "SGD": KNOWN["SGD"],
        "MC Dropout": McDropout(RATE, DRAWS, training=replace(FASTER, weight_decay=1e-2)),
        "MC Dropout fVI": FunctionSpace(Dropout(RATE, DRAWS), training=FASTER),
        "Ensemble": KNOWN["Ensemble"],
        "Ensemble fVI": FunctionSpace(Members(5), training=ADAMW),
        "MFVI": Mfvi(learning_rate=6e-3, prior_std=1.0, epochs=6, batch_size=50, draws=DRAWS),
        "MFVI fVI": FunctionSpace(MeanField(draws=DRAWS), training=ADAMW),
        "Radial": WeightSpace(Radial(draws=DRAWS), training=ADAMW),
        "Radial fVI": FunctionSpace(Radial(draws=DRAWS), training=ADAMW),
        "Rank1": WeightSpace(Rank1(), training=ADAMW),
        "Rank1 fVI": FunctionSpace(Rank1(), training=ADAMW),
        "IVON": replace(cifar10.IVON, draws=DRAWS),
        "Laplace last layer": KNOWN["Laplace last layer"],
        "MP": KNOWN["MP"],
    },
    own_architectures={},
    evaluations=(
        *FEWER,
        *(Evaluation(Fgsm(size, surrogate=SMALLER), METRICS) for size in EPSILONS),
    ),
    seeds=3,
    reproduces=(),
)
CNN_100 = cnn_000(channels=(8, 8, 16, 16), hidden=64, classes=100)
CIFAR_100 = replace(
    QUICK,
    own_settings={},
    profile="cifar100",
    cases=(Case(Limited(Cifar100(), train=10_000, test=2000), CNN_100),),
    evaluations=(
        *FEWER,
        *(
            Evaluation(Fgsm(size, surrogate=replace(SMALLER, architecture=CNN_100)), METRICS)
            for size in EPSILONS
        ),
    ),
)
