"""Profiles quick and full: settings that are the same for all sets."""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.official.uci_classification import UciClassification
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.metrics import IMBALANCED, JOINT
from bnnbench.suites.uci_classification.settings import METHODS

# Two classes with two rows each, thirteen columns of categories, labels that are mostly noise, and
# one positive in 23 rows.
QUICK = Suite(
    name="uci_classification",
    title="Classification of tables: likelihood, rare classes and calibration of small networks",
    profile="quick",
    cases=tuple(
        Case(UciClassification(name), mlp([50], outputs=classes))
        for name, classes in (("ecoli", 8), ("german", 2), ("haberman", 2), ("oil_spill", 2))
    ),
    methods=METHODS,
    evaluations=(Evaluation(Clean(), (*IMBALANCED, *JOINT)),),
    folds=5,
    fitted_together=5,
)

# Sets with fewer than a thousand rows, and with more.
SMALL_TABLES, LARGE_TABLES = (
    tuple(Case(UciClassification(name), mlp([50], outputs=classes)) for name, classes in tables)
    for tables in (
        (
            *(("breast_cancer", 2), ("glass", 6), ("ionosphere", 2)),
            *(("sonar", 2), ("thyroid", 3), ("wheat_seeds", 3)),
        ),
        (("adult", 2), ("banknote", 2), ("mammography", 2), ("phoneme", 2)),
    )
)

FULL = replace(
    QUICK,
    profile="full",
    cases=(*QUICK.cases, *SMALL_TABLES, *LARGE_TABLES),
    methods=METHODS | {"HMC": Hmc(draws=500)},
    folds=20,
)
