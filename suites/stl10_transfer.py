"""Transfer from CIFAR-10 to STL-10: networks trained on one are tested on the other's images.

Nine classes are in both. Predictions still cover CIFAR-10's ten classes.
"""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.transfer import Transfer
from bnnbench.datasets.cuts.augmented import Augmented
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.cuts.stl10_shared import Stl10Shared
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Reproduces, Suite
from bnnbench.methods.ciber.method import Ciber
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.networks.catalogue import preresnet164, vgg16, wideresnet28_10
from bnnbench.methods.trajectory.last_iterate import LastIterate
from bnnbench.methods.trajectory.schedules import HighThenLow
from bnnbench.metrics import CLASSIFICATION
from bnnbench.suites.cifar10 import settings as cifar10
from bnnbench.suites.cifar10.paper_002 import (
    DEPARTURES,
    PAPER_002_PRERESNET,
    PAPER_002_VGG,
    PAPER_002_WIDERESNET,
)
from bnnbench.suites.cifar10.quick import QUICK as CIFAR10_QUICK

TITLE = "Transfer from CIFAR-10 to the nine shared classes of STL-10"

# The paper says that nine classes are shared, but neither whether the tenth is left out nor
# whether probabilities cover nine classes. The public code on which it builds counts monkeys as
# frogs; both variants are scored.
NINE, TEN = Transfer(Stl10Shared()), Transfer(Stl10Shared(monkeys=True))
PAPER = replace(
    PAPER_002_VGG,
    name="stl10_transfer",
    title=f"{TITLE}, VGG-16",
    profile="paper",
    cases=(Case(Augmented(Cifar10()), vgg16()),),
    evaluations=(
        Evaluation(Clean(), CLASSIFICATION),
        Evaluation(NINE, CLASSIFICATION),
        Evaluation(TEN, CLASSIFICATION),
    ),
    reproduces=(Reproduces("002", "4", DEPARTURES),),
)
PAPER_PRERESNET = replace(
    PAPER,
    title=f"{TITLE}, PreResNet-164",
    profile="paper_preresnet164",
    methods=PAPER_002_PRERESNET.methods,
    cases=(Case(Augmented(Cifar10()), preresnet164()),),
)
PAPER_WIDERESNET = replace(
    PAPER,
    title=f"{TITLE}, WideResNet-28-10",
    profile="paper_wideresnet28_10",
    methods=PAPER_002_WIDERESNET.methods,
    cases=(Case(Augmented(Cifar10()), wideresnet28_10()),),
    reproduces=(Reproduces("002", "10", DEPARTURES),),
)

# The narrow network and the descent of bnnbench.suites.cifar10's quick profile.
DESCENT = cifar10.TRAJECTORY
KNOWN = CIFAR10_QUICK.methods
QUICK = Suite(
    name="stl10_transfer",
    title=TITLE,
    profile="quick",
    cases=(Case(Limited(Cifar10(), train=3000, test=1000), cifar10.NARROW),),
    methods={
        "Class frequency": Marginal(),
        "SGD": LastIterate(replace(DESCENT, schedule=HighThenLow(0.01), start=0.0)),
        "SWA": KNOWN["SWA"],
        "SWAG": KNOWN["SWAG"],
        "CIBER": Ciber(DESCENT, samples=None),
        "SGLD": KNOWN["SGLD"],
        "KFAC": KNOWN["KFAC"],
    },
    evaluations=(
        Evaluation(Clean(), CLASSIFICATION),
        Evaluation(Transfer(Limited(Stl10Shared(), test=1000)), CLASSIFICATION),
        Evaluation(Transfer(Limited(Stl10Shared(monkeys=True), test=1000)), CLASSIFICATION),
    ),
    seeds=2,
    fitted_together=1,
)

SUITES = {
    "quick": QUICK,
    "paper": PAPER,
    "paper_preresnet164": PAPER_PRERESNET,
    "paper_wideresnet28_10": PAPER_WIDERESNET,
}
