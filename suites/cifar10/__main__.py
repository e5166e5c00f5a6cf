"""`python -m bnnbench.suites.cifar10`: the command `bnnbench cifar10`."""

from bnnbench.commands.suite import main
from bnnbench.suites.cifar10 import SUITES

if __name__ == "__main__":
    main(SUITES)
