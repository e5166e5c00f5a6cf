"""Profile neighbour: tables 11 to 16 of paper 003 with a quarter of the channels, in 15 epochs.

It does not reproduce the printed numbers, but can be compared with them at less than a hundredth of
the computation. Methods share learning rate, batches and epochs; none is tuned.
"""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.augmented import Augmented
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.function_space.method import FunctionSpace, WeightSpace
from bnnbench.methods.function_space.models import Map, Members
from bnnbench.methods.function_space.radial import Radial
from bnnbench.methods.label_smoothing import LabelSmoothing
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.networks.catalogue import resnet18
from bnnbench.methods.post_hoc.tempered import Tempered
from bnnbench.methods.sgd import Sgd
from bnnbench.metrics import DIRICHLET
from bnnbench.suites.cifar10_shift.paper import PAPER
from bnnbench.suites.cifar10_shift.settings import ATTACKS, CORRUPTED, METRICS

SGD = Sgd(learning_rate=0.1, weight_decay=5e-4, epochs=15, batch_size=128, schedule="cosine")
UNDECAYED = replace(SGD, weight_decay=0.0)
SMOOTHED = LabelSmoothing.matching_function_space(UNDECAYED, classes=10)

NEIGHBOUR = replace(
    PAPER,
    title="CIFAR-10 under corruption and attack: a narrow ResNet-18, to compare with paper 003",
    profile="neighbour",
    cases=(Case(Augmented(Limited(Cifar10(), test=2000)), resnet18(width=16)),),
    methods={
        "Class frequency": Marginal(),
        "MAP": SGD,
        "MAP (tempered)": Tempered(SGD),
        "MAP fVI": FunctionSpace(Map(), training=UNDECAYED),
        "MAP label smoothing": SMOOTHED,
        "Ensemble": Ensemble(size=5, member=SGD),
        "Ensemble fVI": FunctionSpace(Members(5), training=UNDECAYED),
        "Ensemble label smoothing": Ensemble(size=5, member=SMOOTHED),
        "Radial": WeightSpace(Radial(), training=UNDECAYED),
        "Radial fVI": FunctionSpace(Radial(), training=UNDECAYED),
    },
    own_architectures={},
    evaluations=(
        Evaluation(Clean(), METRICS + DIRICHLET[1:]),
        *CORRUPTED,
        *(Evaluation(attack, METRICS) for attack in ATTACKS),
    ),
    seeds=3,
    reproduces=(),
)
