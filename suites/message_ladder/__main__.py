"""`python -m bnnbench.suites.message_ladder`: the command `bnnbench message_ladder`."""

from bnnbench.commands.suite import main
from bnnbench.suites.message_ladder import SUITES

if __name__ == "__main__":
    main(SUITES)
