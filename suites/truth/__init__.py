"""Predictions against a truth: certified posteriors, and known data distributions."""

from bnnbench.suites.truth.oracles import CLASSES, FUNCTIONS
from bnnbench.suites.truth.posteriors import FULL, QUICK, TANH

SUITES = {
    "quick": QUICK,
    "full": FULL,
    "tanh": TANH,
    "oracles": FUNCTIONS,
    "oracle_classes": CLASSES,
}
