"""Active learning of digits: batches chosen by BALD or entropy compared with random ones."""

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.cuts.pool import ActivePool
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.engine.declare.acquisition import Acquisition
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.networks.architectures import Flatten
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.metrics import CLASSIFICATION

TITLE = "Active learning of digits: BALD and predictive entropy against random acquisition"

# 20 labels, then 10 at a time: Gal, Islam and Ghahramani (2017), section 5. Here, in contrast,
# the network is a perceptron, and the pool of the quick profile is small.
ARMS = {
    "random": Acquisition("random", rounds=9, batch=10),
    "entropy": Acquisition("entropy", rounds=9, batch=10),
    "BALD": Acquisition("bald", rounds=9, batch=10),
}
# Customary settings, not searched.
ADAMW = AdamW(learning_rate=2e-3, weight_decay=1e-2, epochs=50, batch_size=32)
NETWORK = (Flatten(), *mlp([100], outputs=10))
METHODS = {
    "MC dropout": McDropout(rate=0.3, draws=16, training=ADAMW, where="every"),
    "Ensemble": Ensemble(size=5, member=ADAMW),
}

QUICK = Suite(
    name="active_learning_mnist",
    title=TITLE,
    profile="quick",
    cases=(
        Case(ActivePool(Limited(Mnist(), train=1000, test=500), test=None, repeats=3), NETWORK),
    ),
    methods=METHODS,
    evaluations=(Evaluation(Clean(), CLASSIFICATION),),
    folds=3,
    acquisitions=ARMS,
)

FULL = Suite(
    name="active_learning_mnist",
    title=TITLE,
    profile="full",
    cases=(Case(ActivePool(Mnist(), test=None, repeats=10), NETWORK),),
    methods=METHODS,
    evaluations=(Evaluation(Clean(), CLASSIFICATION),),
    folds=10,
    acquisitions=ARMS,
)

SUITES = {"quick": QUICK, "full": FULL}
