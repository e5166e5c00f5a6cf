"""Classification of tables by small networks: categories, missing values, rare classes."""

from bnnbench.suites.uci_classification.fixed import FULL, QUICK
from bnnbench.suites.uci_classification.tuned import TUNED_MORE, TUNED_QUICK

SUITES = {
    "quick": QUICK,
    "tuned_quick": TUNED_QUICK,
    "tuned_more": TUNED_MORE,
    "full": FULL,
}
