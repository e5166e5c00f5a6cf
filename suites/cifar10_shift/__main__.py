"""`python -m bnnbench.suites.cifar10_shift`: the command `bnnbench cifar10_shift`."""

from bnnbench.commands.suite import main
from bnnbench.suites.cifar10_shift import SUITES

if __name__ == "__main__":
    main(SUITES)
