"""Digits learned from 640 to 60,000 images by a perceptron and a LeNet; tested on clothing."""

from bnnbench.suites.mnist.disjoint import DISJOINT
from bnnbench.suites.mnist.schedules import BY_SCHEDULE, WIDE
from bnnbench.suites.mnist.training_sizes import PAPER, QUICK
from bnnbench.suites.mnist.tuned import TUNED_QUICK

SUITES = {
    "quick": QUICK,
    "paper": PAPER,
    "tuned_quick": TUNED_QUICK,
    "disjoint": DISJOINT,
    "schedules": BY_SCHEDULE,
    "wide": WIDE,
}
