"""`python -m bnnbench.suites.mnist`: the command `bnnbench mnist`."""

from bnnbench.commands.suite import main
from bnnbench.suites.mnist import SUITES

if __name__ == "__main__":
    main(SUITES)
