"""Profiles regression and classification: the tables that count, in five splits; and quick ones."""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.official.collected.entries import counted
from bnnbench.datasets.official.collected.table import CollectedTable
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.metrics import IMBALANCED, JOINT, JOINT_REGRESSION, REGRESSION
from bnnbench.suites.tables.settings import (
    NETWORK,
    NETWORKS,
    TUNED_CLASSIFICATION,
    TUNED_REGRESSION,
)

INTERVAL_SCORES = "interval_score_90", "interval_score_95"

OF_NUMBERS = Suite(
    name="tables",
    title="Regression on twenty tables with equal tuning: likelihood, error and intervals",
    profile="regression",
    cases=tuple(Case(CollectedTable(table.name), NETWORK) for table in counted("regression")),
    methods=TUNED_REGRESSION,
    evaluations=(Evaluation(Clean(), (*REGRESSION, *INTERVAL_SCORES, *JOINT_REGRESSION)),),
    folds=5,
    fitted_together=5,
)

OF_CLASSES = replace(
    OF_NUMBERS,
    title="Classification of tables with equal tuning: likelihood, rare classes and calibration",
    profile="classification",
    cases=tuple(
        Case(CollectedTable(table.name), NETWORKS[table.classes])
        for table in counted("classification")
    ),
    methods=TUNED_CLASSIFICATION,
    evaluations=(Evaluation(Clean(), (*IMBALANCED, *JOINT)),),
)

# Two trials on small tables, to see that everything works.
QUICK = replace(
    OF_NUMBERS,
    profile="quick",
    cases=tuple(Case(CollectedTable(name), NETWORK) for name in ("servo", "machine", "hitters")),
    methods={
        label: replace(method, trials=2, updates=500, blocks=1)
        for label, method in TUNED_REGRESSION.items()
    },
    folds=2,
)
QUICK_CLASSES = replace(
    OF_CLASSES,
    profile="quick_classes",
    cases=tuple(
        Case(CollectedTable(name), NETWORKS[classes])
        for name, classes in (("bupa", 2), ("housevotes", 2), ("movement_libras", 15))
    ),
    methods={
        label: replace(method, trials=2, updates=500, blocks=1)
        for label, method in TUNED_CLASSIFICATION.items()
    },
    folds=2,
)
