"""Profiles sizes and sizes_classes: the same test rows after learning from 50, 150 and 500 rows.

Only methods whose fits are cheap, on six tables of at least 1,500 rows each.
"""

from dataclasses import replace

from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.collected.table import CollectedTable
from bnnbench.engine.declare.case import Case
from bnnbench.suites.tables.counted import OF_CLASSES, OF_NUMBERS
from bnnbench.suites.tables.settings import NETWORK, NETWORKS, TREES

ROWS = (50, 150, 500)
TABLES = ("airfoil", "gas", "wage", "diamonds_4000", "pumadyn32nm", "bikeshare_hourly")
TABLES_OF_CLASSES = {
    **dict.fromkeys(("spambase", "flchain", "magic"), 2),
    "splice": 3,
    "satimage": 6,
    "segment": 7,
}
OTHERS = ("Bayesian linear regression", *TREES)
CHEAP = (
    *("Training mean", "AdamW", "IVON", "MFVI", "MC dropout", "Ensemble"),
    *("Ensemble heteroscedastic", "PBP", "VBLL", "GP (cross-validated)", *OTHERS),
)
CHEAP_OF_CLASSES = (
    *("Class frequency", "AdamW", "AdamW (tempered)", "IVON", "MFVI", "MC dropout"),
    *("Ensemble", "Ensemble (tempered)", "PBP", "VBLL", "Logistic regression", *TREES),
)

SIZES = replace(
    OF_NUMBERS,
    profile="sizes",
    title="Regression on tables from 50, 150 and 500 training rows, with equal tuning",
    cases=tuple(
        Case(
            Limited(CollectedTable(name), train=rows),
            NETWORK,
            f"{name}-{rows}",
            f"{name}, {rows} rows",
        )
        for name in TABLES
        for rows in ROWS
    ),
    methods={label: OF_NUMBERS.methods[label] for label in CHEAP},
)
SIZES_OF_CLASSES = replace(
    OF_CLASSES,
    profile="sizes_classes",
    title="Classification of tables from 50, 150 and 500 training rows, with equal tuning",
    cases=tuple(
        Case(
            Limited(CollectedTable(name), train=rows),
            NETWORKS[classes],
            f"{name}-{rows}",
            f"{name}, {rows} rows",
        )
        for name, classes in TABLES_OF_CLASSES.items()
        for rows in ROWS
    ),
    methods={label: OF_CLASSES.methods[label] for label in CHEAP_OF_CLASSES},
)
