"""CIFAR under corruption and attack: priors on functions and on weights.

The network's inputs are standardised. Sizes of attacks are given in its units, and also in units
of intensities between 0 and 1; then attacked images stay in that range.
"""

from bnnbench.suites.cifar10_shift.narrow import CIFAR_100, QUICK
from bnnbench.suites.cifar10_shift.neighbour import NEIGHBOUR
from bnnbench.suites.cifar10_shift.paper import PAPER

SUITES = {"quick": QUICK, "paper": PAPER, "neighbour": NEIGHBOUR, "cifar100": CIFAR_100}
