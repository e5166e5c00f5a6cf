"""CIFAR under corruption and attack: priors on functions and on weights.

What a network sees is standardised. The sizes of attacks are in its units, and once more in
those of intensities between 0 and 1, which the attacked images then keep to.
"""

from bnnbench.suites.cifar10_shift.narrow import CIFAR_100, QUICK
from bnnbench.suites.cifar10_shift.neighbour import NEIGHBOUR
from bnnbench.suites.cifar10_shift.paper import PAPER

SUITES = {"quick": QUICK, "paper": PAPER, "neighbour": NEIGHBOUR, "cifar100": CIFAR_100}
