"""Predictions against a truth: certified posteriors, and laws that targets were drawn from."""

from bnnbench.suites.truth.oracles import CLASSES, FUNCTIONS
from bnnbench.suites.truth.posteriors import FULL, QUICK, TANH

SUITES = {
    "quick": QUICK,
    "full": FULL,
    "tanh": TANH,
    "oracles": FUNCTIONS,
    "oracle_classes": CLASSES,
}
