"""Profiles tuned_quick and disjoint: settings and length chosen on held-out training images.

Every method has the same budget. The training sets of disjoint have no common image.
"""

from dataclasses import replace

from bnnbench.datasets.cuts.disjoint import Disjoint
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.engine.declare.case import Case
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.label_smoothing import LabelSmoothing
from bnnbench.methods.message_passing.crossed import CrossFitted
from bnnbench.methods.message_passing.informed import InformedPrior
from bnnbench.methods.tuning.method import Tuned
from bnnbench.suites.cifar10.quick import QUICK
from bnnbench.suites.cifar10.settings import ADAMW, NARROW
from bnnbench.suites.mnist.settings import INFORMED as ON_DIGITS

# All methods except those that tune themselves.
LABELS = (
    *("Class frequency", "AdamW", "SGD", "MC dropout", "MFVI", "IVON@mean", "IVON"),
    *("SWA", "SWAG", "SGLD", "KFAC", "MP"),
)

# Eight settings at a quarter of the longest fit, the best four at half, the best two in full.
HALVED = Tuned(trials=8, blocks=1, lengths=(6, 12, 24), noise="own", halving=True)
# The variant that is best with few digits.
INFORMED = replace(ON_DIGITS, prior=InformedPrior(ADAMW))

# Probabilities of point estimates are also scored with a temperature from held-out images.
# Ensembles have a quarter of the trials, because each trial is three, five or six fits.
TUNED_QUICK = replace(
    QUICK,
    profile="tuned_quick",
    own_settings={},
    title="CIFAR-10 with equal tuning: accuracy, calibration and out-of-distribution detection",
    methods={label: replace(HALVED, method=QUICK.methods[label]) for label in LABELS}
    | {
        "Ensemble": replace(HALVED, method=QUICK.methods["Ensemble"], trials=2),
        "Label smoothing": replace(HALVED, method=LabelSmoothing(training=ADAMW)),
        "AdamW (tempered)": replace(HALVED, method=ADAMW, noise="held_out"),
        "SGD (tempered)": replace(HALVED, method=QUICK.methods["SGD"], noise="held_out"),
        "Ensemble (tempered)": replace(
            HALVED, method=Ensemble(size=5, member=ADAMW), trials=2, noise="held_out"
        ),
        "MP informed": replace(HALVED, method=INFORMED),
        "MP informed x3 (tempered)": replace(
            HALVED, method=Ensemble(3, INFORMED), trials=2, noise="held_out"
        ),
        "MP cross-fitted x3 (tempered)": replace(
            HALVED, method=Ensemble(3, CrossFitted(INFORMED)), trials=2, noise="held_out"
        ),
    },
    fitted_together=3,
)


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
