"""Two moons: effects of priors on functions and on weights in the plane around 100 points."""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.plane import Plane
from bnnbench.datasets.generated.two_moons import TwoMoons
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.function_space.index_sets import Grid
from bnnbench.methods.function_space.method import FunctionSpace
from bnnbench.methods.function_space.models import Dropout, Map, Members
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.metrics import (
    CLASSIFICATION,
    DIRICHLET,
    DIRICHLET_OUT_OF_DISTRIBUTION,
    JOINT,
    OUT_OF_DISTRIBUTION,
)

# Network, learning rate, epochs of the whole data, dropout and members: paper 003, appendix B.2.
ADAM = AdamW(learning_rate=5e-3, weight_decay=0.0, epochs=1000, batch_size=100, schedule="constant")
RATE, MEMBERS, DRAWS = 0.2, 10, 10
# The visible plane in steps of 0.05. Neither its borders nor the biased priors are printed: these
# borders contain the figure's data, and the priors are 5 to 1.
LOW, HIGH = (-2.0, -1.5), (3.0, 2.0)
PRIORS = {"": None, " biased to 0": (5.0, 1.0), " biased to 1": (1.0, 5.0)}
MODELS = {"MAP": Map(), "MC Dropout": Dropout(RATE, DRAWS), "Ensemble": Members(MEMBERS)}
WEIGHTS = {
    "MAP": ADAM,
    "MC Dropout": McDropout(RATE, DRAWS, training=ADAM),
    "Ensemble": Ensemble(MEMBERS, ADAM),
}

PAPER = Suite(
    name="two_moons",
    title="Two moons: priors on functions and on weights",
    profile="paper",
    cases=(Case(TwoMoons(), mlp([25, 25], 2)),),
    methods=WEIGHTS
    | {
        f"{label} fVI{name}": FunctionSpace(model, (Grid(LOW, HIGH, 0.05),), prior, training=ADAM)
        for label, model in MODELS.items()
        for name, prior in PRIORS.items()
    },
    evaluations=(
        Evaluation(Clean(), (*CLASSIFICATION, *DIRICHLET, *JOINT)),
        # Far: half a unit from all training points, two and a half times the std of their noise.
        Evaluation(
            Plane(LOW, HIGH, 0.05, distance=0.5),
            (*OUT_OF_DISTRIBUTION, *DIRICHLET_OUT_OF_DISTRIBUTION),
        ),
    ),
    seeds=5,
)

QUICK = replace(
    PAPER,
    profile="quick",
    methods=WEIGHTS
    | {
        f"{label} fVI{name}": FunctionSpace(model, (Grid(LOW, HIGH, 0.2),), prior, training=ADAM)
        for label, model in MODELS.items()
        for name, prior in PRIORS.items()
    },
    seeds=2,
)

SUITES = {"quick": QUICK, "paper": PAPER}
