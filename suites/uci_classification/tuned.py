"""Profiles tuned_quick and tuned_more: settings from held-out training rows, by equal budgets."""

from dataclasses import replace

from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.message_passing.crossed import CrossFitted
from bnnbench.methods.message_passing.informed import InformedPrior
from bnnbench.methods.tuning.method import Tuned
from bnnbench.suites.uci_classification.fixed import QUICK, SMALL_TABLES
from bnnbench.suites.uci_classification.settings import ADAMW, METHODS, SGD

TUNED = Tuned(trials=8, updates=3_000, noise="own")
TEMPERED = replace(TUNED, noise="held_out")

MP = METHODS["MP"]
INFORMED = replace(MP, prior=InformedPrior())
# A fit of message passing takes seconds: four trials, one block.
PASSED = Tuned(MP, 4, 1, lengths=(12, 25, 50), noise="own")

# "(tempered)": with the best temperature on held-out training rows, for point estimates and
# ensembles, and for message passing with prior means from a point estimate.
TUNED_QUICK = replace(
    QUICK,
    profile="tuned_quick",
    title="Classification of tables with equal tuning: likelihood, rare classes and calibration",
    methods={label: replace(TUNED, method=method) for label, method in METHODS.items()}
    | {
        "AdamW (tempered)": replace(TEMPERED, method=ADAMW),
        "SGD (tempered)": replace(TEMPERED, method=SGD),
        "Ensemble (tempered)": replace(TEMPERED, method=METHODS["Ensemble"]),
        "MP": PASSED,
        "MP informed x3": replace(PASSED, method=Ensemble(3, INFORMED), noise="held_out"),
        "MP cross-fitted x3": replace(
            PASSED, method=Ensemble(3, CrossFitted(INFORMED)), noise="held_out"
        ),
    },
)

TUNED_MORE = replace(TUNED_QUICK, profile="tuned_more", cases=SMALL_TABLES)
