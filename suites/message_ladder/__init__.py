"""The error of each approximation in message passing, given the exact posterior."""

from bnnbench.suites.message_ladder.approximation_levels import QUICK
from bnnbench.suites.message_ladder.wide import WIDE

SUITES = {"quick": QUICK, "wide": WIDE}
