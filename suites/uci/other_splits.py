"""Profiles gap, deduplicated and scoringbench: other splits of the small sets.

The folds and caps of scoringbench are those of a public board of predictive distributions.
"""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.folds import Deduplicated, Gap
from bnnbench.datasets.cuts.shuffled_folds import ShuffledFolds
from bnnbench.datasets.official.uci import Uci
from bnnbench.engine.declare.case import cases_of
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.metrics import REGRESSION, SCORES_OF_TABLES
from bnnbench.suites.uci.settings import NETWORK
from bnnbench.suites.uci.small_sets import QUICK
from bnnbench.suites.uci.tuned import TUNED_QUICK

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


# ScoringBench (github.com/jonaslandsgesell/ScoringBench): five folds, at most 2,400 training and
# 600 test rows of each. Its sets whose files are the same as ours: OpenML 531, 44959, 44960
# (heating load) and 189.
SCORINGBENCH = replace(
    TUNED_QUICK,
    title="UCI regression by the folds of ScoringBench, with equal tuning",
    profile="scoringbench",
    cases=cases_of(
        tuple(ShuffledFolds(Uci(name)) for name in ("boston", "concrete", "energy", "kin8nm")),
        NETWORK,
    ),
    evaluations=(Evaluation(Clean(), (*REGRESSION, *SCORES_OF_TABLES)),),
    seeds=1,
    fitted_together=5,
)
