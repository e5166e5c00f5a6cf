"""Profile paper: ResNet-18 on CIFAR-10 and CIFAR-100, by the protocol of paper 003."""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.augmented import Augmented
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.datasets.official.cifar100 import Cifar100
from bnnbench.engine.declare.attacks import Fgsm, Pgd
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.engine.declare.surrogate import Surrogate
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.function_space.method import FunctionSpace, WeightSpace
from bnnbench.methods.function_space.models import Dropout, Map, Members
from bnnbench.methods.function_space.radial import Radial
from bnnbench.methods.function_space.rank1 import Rank1
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.networks.catalogue import resnet18
from bnnbench.methods.sgd import Sgd
from bnnbench.metrics import DIRICHLET
from bnnbench.suites.cifar10_shift.settings import ATTACKS, CORRUPTED, EPSILONS, METRICS, TITLE
from bnnbench.suites.following import following

# Paper 003, appendix B.2, except for the learning rate, which it does not state: that of He et al.
SGD = Sgd(learning_rate=0.1, weight_decay=5e-4, epochs=200, batch_size=128, schedule="steps")
UNDECAYED = replace(SGD, weight_decay=0.0)
LONGER = replace(UNDECAYED, epochs=250)
TRANSFERRED = Surrogate("sgd", SGD, {"default": resnet18(), "cifar100": resnet18(100)})

DEPARTURES = (
    "Dropout follows the activation inside each block and precedes the last layer; the paper does "
    "not say where it is.",
)
PAPER = Suite(
    name="cifar10_shift",
    title=TITLE,
    profile="paper",
    cases=(Case(Augmented(Cifar10()), resnet18()), Case(Augmented(Cifar100()), resnet18(100))),
    methods={
        "Class frequency": Marginal(),
        "MAP": SGD,
        "MAP fVI": FunctionSpace(Map(), training=UNDECAYED),
        "MC Dropout": McDropout(rate=0.2, draws=10, training=SGD),
        "MC Dropout fVI": FunctionSpace(Dropout(rate=0.1, draws=10), training=UNDECAYED),
        "Ensemble": Ensemble(size=5, member=SGD),
        "Ensemble fVI": FunctionSpace(Members(5), training=UNDECAYED),
        "Radial": WeightSpace(Radial(), training=UNDECAYED),
        "Radial fVI": FunctionSpace(Radial(), training=UNDECAYED),
        "Rank1": WeightSpace(Rank1(), training=LONGER),
        "Rank1 fVI": FunctionSpace(Rank1(), training=LONGER),
    },
    own_architectures={
        "MC Dropout": {
            "default": resnet18(dropout=0.2),
            "cifar100": resnet18(100, dropout=0.2),
        },
        "MC Dropout fVI": {
            "default": resnet18(dropout=0.1),
            "cifar100": resnet18(100, dropout=0.1),
        },
    },
    evaluations=(
        Evaluation(Clean(), METRICS + DIRICHLET[1:]),
        *CORRUPTED,
        *(Evaluation(attack, METRICS) for attack in ATTACKS),
        *(Evaluation(Pgd(size, steps=20, step=0.25), METRICS) for size in EPSILONS),
        *(Evaluation(Fgsm(size, surrogate=TRANSFERRED), METRICS) for size in EPSILONS),
    ),
    seeds=10,
    fitted_together=1,
    reproduces=following("cifar10_shift/paper", "003", map(str, range(11, 23)), *DEPARTURES),
)
