"""`python -m bnnbench.suites.toy`: the command `bnnbench toy`."""

from bnnbench.commands.suite import main
from bnnbench.suites.toy import SUITES

if __name__ == "__main__":
    main(SUITES)
