"""A league over many tables, chosen by a rule before any method was run on them."""

from bnnbench.suites.tables.counted import OF_CLASSES, OF_NUMBERS, QUICK, QUICK_CLASSES
from bnnbench.suites.tables.sizes import SIZES, SIZES_OF_CLASSES

SUITES = {
    "quick": QUICK,
    "quick_classes": QUICK_CLASSES,
    "regression": OF_NUMBERS,
    "classification": OF_CLASSES,
    "sizes": SIZES,
    "sizes_classes": SIZES_OF_CLASSES,
}
