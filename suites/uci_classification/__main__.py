"""`python -m bnnbench.suites.uci_classification`: the command `bnnbench uci_classification`."""

from bnnbench.commands.suite import main
from bnnbench.suites.uci_classification import SUITES

if __name__ == "__main__":
    main(SUITES)
