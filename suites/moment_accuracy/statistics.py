"""Profile statistics: networks before training, table 4 of paper 001."""

from dataclasses import replace

from bnnbench.datasets.conditions.first import First
from bnnbench.datasets.cuts.intensities import Intensities
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Reproduces
from bnnbench.methods.moment_propagation.initialisation import Rescaling
from bnnbench.methods.moment_propagation.untrained import Untrained
from bnnbench.methods.moments.rules import Formulas
from bnnbench.methods.networks.architectures import Sigmoid
from bnnbench.methods.networks.catalogue import lenet_001
from bnnbench.suites.moment_accuracy.lenets import QUICK
from bnnbench.suites.moment_accuracy.settings import EXACT_FORMULAS, PAPER_FORMULAS
from bnnbench.suites.probes.dataset_statistics import DatasetStatistics

STATISTICS_LENETS = tuple(
    Case(
        Intensities(Mnist()),
        network,
        f"mnist-{name}-statistics",
        f"LeNet, {title}, data statistics",
    )
    for name, title, network in (
        ("lrelu0.01", "LReLU", lenet_001()),
        ("logistic_transform", "transform", lenet_001(activation=Sigmoid())),
    )
)

INITIALISATIONS: dict[str, Rescaling] = {"none": "none", "BN": "bn", "AP2": "ap2"}
DEPARTURES = (
    EXACT_FORMULAS,
    "inputs are intensities in [0, 1]; the paper does not state its scaling",
)
STATISTICS = replace(
    QUICK,
    title="Single-pixel statistics compared with statistics of the training set",
    profile="statistics",
    cases=STATISTICS_LENETS,
    methods={
        f"{label}, init {shown}": Untrained(rule, formulas)
        for label, formulas in (("AP2", Formulas()), ("AP2 paper", PAPER_FORMULAS))
        for shown, rule in INITIALISATIONS.items()
    },
    evaluations=(Evaluation(First(100), ("accuracy",)),),
    probes=(DatasetStatistics(),),
    reproduces=(Reproduces("001", "4", DEPARTURES),),
)
