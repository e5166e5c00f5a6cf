"""Image classification: calibration on CIFAR-10, detection of SVHN and CIFAR-100."""

from bnnbench.suites.cifar10.ablation import ABLATION
from bnnbench.suites.cifar10.analytic_dropout import ANALYTIC_DROPOUT, ANALYTIC_DROPOUT_QUICK
from bnnbench.suites.cifar10.paper import PAPER
from bnnbench.suites.cifar10.paper_002 import (
    PAPER_002_PRERESNET,
    PAPER_002_VGG,
    PAPER_002_WIDERESNET,
)
from bnnbench.suites.cifar10.quick import QUICK
from bnnbench.suites.cifar10.tuned import DISJOINT, TUNED_QUICK

SUITES = {
    "quick": QUICK,
    "tuned_quick": TUNED_QUICK,
    "disjoint": DISJOINT,
    "paper": PAPER,
    "paper_002_vgg16": PAPER_002_VGG,
    "paper_002_preresnet164": PAPER_002_PRERESNET,
    "paper_002_wideresnet28_10": PAPER_002_WIDERESNET,
    "ablation": ABLATION,
    "analytic_dropout": ANALYTIC_DROPOUT,
    "analytic_dropout_quick": ANALYTIC_DROPOUT_QUICK,
}
