"""`bnnbench report results/`."""

import sys

from bnnbench.reports.write.cli import main

sys.exit(main(sys.argv[1:]))
