"""`python -m bnnbench.suites.cifar10`: the command `bnnbench cifar10`."""

from bnnbench.suites.cifar10 import SUITES
from bnnbench.suites.engine.command.cli import main

if __name__ == "__main__":
    main(SUITES)
