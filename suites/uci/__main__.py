"""`python -m bnnbench.suites.uci`: the command `bnnbench uci`."""

from bnnbench.commands.suite import main
from bnnbench.suites.uci import SUITES

if __name__ == "__main__":
    main(SUITES)
