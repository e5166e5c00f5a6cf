"""`python -m reports results/`."""

import sys

from reports.cli import main

sys.exit(main(sys.argv[1:]))
