"""Profile scoringbench: the folds and caps of a public board of predictive distributions."""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.shuffled_folds import ShuffledFolds
from bnnbench.datasets.official.uci import Uci
from bnnbench.engine.declare.case import cases_of
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.metrics import REGRESSION, SCORES_OF_TABLES
from bnnbench.suites.uci.settings import NETWORK
from bnnbench.suites.uci.tuned import TUNED_QUICK

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
