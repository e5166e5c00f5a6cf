"""`python -m bnnbench.suites.truth`: the command `bnnbench truth`."""

from bnnbench.commands.suite import main
from bnnbench.suites.truth import SUITES

if __name__ == "__main__":
    main(SUITES)
