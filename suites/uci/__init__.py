"""Regression on UCI sets: small networks on the sets of paper 004, deeper ones on larger sets."""

from bnnbench.suites.uci.large import LARGE, LARGE_SEEDS, PAPER_002_LARGE
from bnnbench.suites.uci.large_quoted import PAPER_002_LARGE_QUOTED
from bnnbench.suites.uci.other_splits import DEDUPLICATED, GAP, SCORINGBENCH
from bnnbench.suites.uci.paper_002 import PAPER_002, PAPER_002_REFERENCE
from bnnbench.suites.uci.paper_002_quoted import PAPER_002_QUOTED
from bnnbench.suites.uci.small_sets import PAPER, QUICK
from bnnbench.suites.uci.tuned import (
    LEAGUE,
    LEAGUE_LARGE,
    TUNED,
    TUNED_BLOCKS,
    TUNED_NOISE,
    TUNED_QUICK,
)

SUITES = {
    "quick": QUICK,
    "paper": PAPER,
    "paper_002": PAPER_002,
    "paper_002_reference": PAPER_002_REFERENCE,
    "paper_002_quoted": PAPER_002_QUOTED,
    "large": LARGE,
    "large_seeds": LARGE_SEEDS,
    "paper_002_large": PAPER_002_LARGE,
    "paper_002_large_quoted": PAPER_002_LARGE_QUOTED,
    "gap": GAP,
    "deduplicated": DEDUPLICATED,
    "tuned_quick": TUNED_QUICK,
    "league": LEAGUE,
    "league_large": LEAGUE_LARGE,
    "tuned": TUNED,
    "tuned_noise": TUNED_NOISE,
    "tuned_blocks": TUNED_BLOCKS,
    "scoringbench": SCORINGBENCH,
}
