"""Profile disjoint: five training sets without a common image, every method tuned equally."""

from dataclasses import replace

from bnnbench.datasets.cuts.disjoint import Disjoint
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.engine.declare.case import Case
from bnnbench.suites.cifar10.settings import NARROW
from bnnbench.suites.cifar10.tuned import TUNED_QUICK

SETS, IMAGES = 5, 3000

DISJOINT = replace(
    TUNED_QUICK,
    profile="disjoint",
    title="CIFAR-10 from disjoint training sets, tuned equally: accuracy, calibration, detection",
    cases=(
        Case(
            Disjoint(Cifar10(), train=IMAGES, blocks=SETS, test=2000),
            NARROW,
            f"cifar10-{IMAGES}-disjoint",
            f"CIFAR-10, {SETS} disjoint sets of {IMAGES:,} images",
        ),
    ),
    seeds=1,
    folds=SETS,
    fitted_together=SETS,
)
