"""Search for the settings of bnnbench.suites.uci, on training rows held out of each fold."""

from bnnbench.suites.searches.uci.large import LARGE, LARGE_FASTER
from bnnbench.suites.searches.uci.small_sets import SEARCH
from bnnbench.suites.searches.uci.trajectories import CURVATURES, TRAJECTORIES, VARIATIONAL

SUITES = {
    "quick": SEARCH,
    "trajectories": TRAJECTORIES,
    "laplace": CURVATURES,
    "variational": VARIATIONAL,
    "large": LARGE,
    "large_faster": LARGE_FASTER,
}
