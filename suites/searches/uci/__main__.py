"""`python -m bnnbench.suites.searches.uci`: the command `bnnbench searches.uci`."""

from bnnbench.commands.suite import main
from bnnbench.suites.searches.uci import SUITES

if __name__ == "__main__":
    main(SUITES)
