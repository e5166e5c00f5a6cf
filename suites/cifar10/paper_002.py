"""Profiles paper_002_...: collapsed inference and SGD's trajectory, one profile per network."""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.augmented import Augmented
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.datasets.official.cifar100 import Cifar100
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.ciber.method import Ciber
from bnnbench.methods.laplace.kfac import Kfac
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.networks.catalogue import preresnet164, vgg16, wideresnet28_10
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.last_iterate import LastIterate
from bnnbench.methods.trajectory.schedules import HighThenLow
from bnnbench.methods.trajectory.sgld import Sgld
from bnnbench.methods.trajectory.swa import Swa
from bnnbench.methods.trajectory.swag import Swag
from bnnbench.metrics import CLASSIFICATION
from bnnbench.suites.following import following

# Paper 002, tables 3 and 7 to 9: the recipe of SWAG (Maddox et al., 2019), 300 epochs in batches
# of 128, the last 140 of them at the low rate; one profile for each network and its settings.
# CIBER uses every fifth iterate of the same descent, 28 in all, as in the paper's code; SGD's
# rate falls to a hundredth. SGLD and the prior of KFAC are ours: the paper states neither.
VGG = Descent(
    learning_rate=0.05, weight_decay=5e-4, epochs=300, batch_size=128,
    schedule=HighThenLow(0.2), start=160 / 300, initialisation="he_fan_out",
)  # fmt: skip
DEPARTURES = (
    "inputs standardised with the training pixels' own mean and deviation",
    "CIBER's probabilities are divided by their sum, its box is that of the iterates' moments",
    "SGLD and KFAC: settings are ours; the paper does not state them",
)
VGG_SGD = LastIterate(replace(VGG, schedule=HighThenLow(0.01), start=0.0))
PAPER_002_VGG = Suite(
    name="cifar10",
    title="CIFAR: collapsed inference and the trajectory of SGD, VGG-16",
    profile="paper_002_vgg16",
    cases=(Case(Augmented(Cifar10()), vgg16()), Case(Augmented(Cifar100()), vgg16(100))),
    methods={
        "CIBER": Ciber(replace(VGG, every=5), samples=None),
        "SWAG": Swag(VGG),
        "SGD": VGG_SGD,
        "SWA": Swa(VGG),
        "SGLD": Sgld(
            learning_rate=0.05, prior_std=0.2, epochs=300, initialisation="he_fan_out"
        ),
        "KFAC": Laplace(VGG_SGD, Kfac(), (1e2, 1e3, 1e4, 1e5), "mc"),
    },
    evaluations=(Evaluation(Clean(), CLASSIFICATION),),
    seeds=3,
    fitted_together=1,
    reproduces=following(
        "cifar10/paper_002_vgg16", "002", ("3", "7", "8", "9"), *DEPARTURES
    ),
)  # fmt: skip
# SWAG's low rate for CIFAR-10; for CIFAR-100 it is 0.05.
PRERESNET = replace(VGG, learning_rate=0.1, weight_decay=3e-4, schedule=HighThenLow(0.1))
PRERESNET_SGD = LastIterate(replace(PRERESNET, schedule=HighThenLow(0.01), start=0.0))
PAPER_002_PRERESNET = replace(
    PAPER_002_VGG,
    title="CIFAR: collapsed inference and the trajectory of SGD, PreResNet-164",
    profile="paper_002_preresnet164",
    methods={
        "CIBER": Ciber(replace(PRERESNET, every=5), samples=None),
        "SWAG": Swag(PRERESNET),
        "SGD": PRERESNET_SGD,
        "SWA": Swa(PRERESNET),
        "SGLD": PAPER_002_VGG.methods["SGLD"],
        "KFAC": Laplace(PRERESNET_SGD, Kfac(), (1e2, 1e3, 1e4, 1e5), "mc"),
    },
    cases=(
        Case(Augmented(Cifar10()), preresnet164()),
        Case(Augmented(Cifar100()), preresnet164(100)),
    ),
    reproduces=following("cifar10/paper_002_preresnet164", "002", ("7", "8", "9"), *DEPARTURES),
)
WIDERESNET = replace(
    VGG, learning_rate=0.1, weight_decay=5e-4, schedule=HighThenLow(0.5), initialisation="torch"
)
WIDERESNET_SGD = LastIterate(replace(WIDERESNET, schedule=HighThenLow(0.01), start=0.0))
PAPER_002_WIDERESNET = replace(
    PAPER_002_VGG,
    title="CIFAR: collapsed inference and the trajectory of SGD, WideResNet-28-10",
    profile="paper_002_wideresnet28_10",
    methods={
        "CIBER": Ciber(replace(WIDERESNET, every=5), samples=None),
        "SWAG": Swag(WIDERESNET),
        "SGD": WIDERESNET_SGD,
        "SWA": Swa(WIDERESNET),
        "SGLD": Sgld(learning_rate=0.05, prior_std=0.2, epochs=300),
        "KFAC": Laplace(WIDERESNET_SGD, Kfac(), (1e2, 1e3, 1e4, 1e5), "mc"),
    },
    cases=(
        Case(Augmented(Cifar10()), wideresnet28_10()),
        Case(Augmented(Cifar100()), wideresnet28_10(100)),
    ),
    reproduces=following("cifar10/paper_002_wideresnet28_10", "002", ("7", "8", "9"), *DEPARTURES),
)
