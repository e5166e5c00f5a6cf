"""The price of each approximation of message passing, where the posterior is known."""

from bnnbench.suites.message_ladder.approximation_levels import QUICK
from bnnbench.suites.message_ladder.wide import WIDE

SUITES = {"quick": QUICK, "wide": WIDE}
