"""`python -m bnnbench.suites.uci_classification`: the command `bnnbench uci_classification`."""

from bnnbench.suites.engine.command.cli import main
from bnnbench.suites.uci_classification import SUITES

if __name__ == "__main__":
    main(SUITES)
