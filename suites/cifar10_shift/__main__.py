"""`python -m bnnbench.suites.cifar10_shift`: the command `bnnbench cifar10_shift`."""

from bnnbench.suites.cifar10_shift import SUITES
from bnnbench.suites.engine.command.cli import main

if __name__ == "__main__":
    main(SUITES)
