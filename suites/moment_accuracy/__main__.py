"""`python -m bnnbench.suites.moment_accuracy`: the command `bnnbench moment_accuracy`."""

from bnnbench.commands.suite import main
from bnnbench.suites.moment_accuracy import SUITES

if __name__ == "__main__":
    main(SUITES)
