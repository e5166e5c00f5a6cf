"""Profiles gap and deduplicated: other splits of the small sets."""

from dataclasses import replace

from bnnbench.datasets.cuts.deduplicated import Deduplicated
from bnnbench.datasets.cuts.gap import Gap
from bnnbench.datasets.official.uci import Uci
from bnnbench.engine.declare.case import cases_of
from bnnbench.suites.uci.settings import NETWORK
from bnnbench.suites.uci.small_sets import QUICK

# Along features with 40 or more values; fewer values leave no gap between rows.
GAP = replace(
    QUICK,
    title="UCI regression: test rows in a gap between the training rows",
    profile="gap",
    cases=cases_of(
        (
            Gap(Uci("boston"), (0, 2, 4, 5, 6, 7, 9, 10, 11, 12)),
            Gap(Uci("concrete"), (0, 1, 2, 3, 4, 5, 6)),
            Gap(Uci("kin8nm"), (0, 1, 2, 3, 4, 5, 6, 7)),
            Gap(Uci("power"), (0, 1, 2, 3)),
            Gap(Uci("protein"), (0, 1, 2, 3, 4, 5, 6, 7, 8)),
            Gap(Uci("wine_red"), (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)),
        ),
        NETWORK,
    ),
    folds=20,
)
# The sets with repeated rows: a third of wine_red's test rows is among the training rows.
DEDUPLICATED = replace(
    QUICK,
    title="UCI regression: no test row among the training rows",
    profile="deduplicated",
    cases=cases_of(
        (
            Deduplicated(Uci("concrete")), Deduplicated(Uci("power")),
            Deduplicated(Uci("protein")), Deduplicated(Uci("wine_red")),
        ),
        NETWORK,
    ),
    folds=20,
)  # fmt: skip
