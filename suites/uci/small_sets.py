"""Profiles quick and paper: the sets of paper 004, in random splits."""

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.official.uci import Uci
from bnnbench.engine.declare.case import Case, cases_of
from bnnbench.engine.declare.grid import Evaluation, Reproduces, Suite
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.pbp.method import Pbp
from bnnbench.methods.row_by_row.backprop import Backprop
from bnnbench.methods.row_by_row.graves_vi import GravesVi
from bnnbench.metrics import JOINT_REGRESSION, REGRESSION, SCORES_OF_TABLES
from bnnbench.suites.uci.settings import METHODS, NETWORK, WIDE

# Paper 004, section 5.1: 30 trials of Bayesian optimisation for BP and VI, separately for every
# fold; section 5.2: up to four hidden layers. Its posterior by HMC is not in its tables.
OTHERS = {
    "BP": Backprop(epochs=40, trials=30),
    "VI": GravesVi(epochs=40, trials=30),
    # Only by the gradient of the sampled bound, as the paper's text may mean.
    "VI (plain steps)": GravesVi(epochs=40, trials=30, steps="plain"),
    # "(covariances)", ours: moments with the covariances of a layer's units.
    "PBP 2 layers": Pbp(epochs=40),
    "PBP 2 layers (covariances)": Pbp(epochs=40, covariances=True),
    "PBP 3 layers": Pbp(epochs=40),
    "PBP 3 layers (covariances)": Pbp(epochs=40, covariances=True),
    "PBP 4 layers": Pbp(epochs=40),
    "PBP 4 layers (covariances)": Pbp(epochs=40, covariances=True),
    "HMC": Hmc(draws=500),
}
DEEPER = {
    f"PBP {layers} layers{units}": {
        "default": mlp([50] * layers, outputs=1),
        "protein": mlp([100] * layers, outputs=1),
        "year": mlp([100] * layers, outputs=1),
    }
    for layers in (2, 3, 4)
    for units in ("", " (covariances)")
}

QUICK = Suite(
    name="uci",
    title="UCI regression: error, likelihood and intervals of small networks",
    profile="quick",
    cases=cases_of((Uci("boston"), Uci("concrete"), Uci("energy")), NETWORK),
    methods=METHODS,
    evaluations=(Evaluation(Clean(), (*REGRESSION, *SCORES_OF_TABLES, *JOINT_REGRESSION)),),
    folds=5,
)

PAPER = Suite(
    name="uci",
    title="UCI regression: error, likelihood and intervals of small networks",
    profile="paper",
    cases=(
        *cases_of(
            (
                Uci("boston"), Uci("concrete"), Uci("energy"), Uci("kin8nm"), Uci("naval"),
                Uci("power"),
            ),
            NETWORK,
        ),
        Case(Uci("protein"), WIDE),
        *cases_of((Uci("wine_red"), Uci("yacht")), NETWORK),
        Case(Uci("year"), WIDE),
    ),
    optional=("year",),
    methods=METHODS | OTHERS,
    evaluations=(Evaluation(Clean(), (*REGRESSION, *JOINT_REGRESSION)),),
    own_architectures=DEEPER,
    folds=20,
    reproduces=(
        Reproduces(
            "004", "1",
            departures=(
                "20 splits of the public dropout experiments, not those of the paper",
                "BP and VI: ranges of the search, initial weights and BP's noise variance, which "
                "the paper does not print, are ours",
            ),
        ),
    ),
)  # fmt: skip
