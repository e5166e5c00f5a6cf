"""`bnnbench report results/`."""

import sys

from bnnbench.commands.report import main

sys.exit(main(sys.argv[1:]))
