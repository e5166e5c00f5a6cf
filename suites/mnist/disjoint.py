"""Profile disjoint: training sets without a common image, every method tuned by an equal budget."""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.out_of_distribution import OutOfDistribution
from bnnbench.datasets.conditions.rotated import Rotated
from bnnbench.datasets.cuts.disjoint import Disjoint
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.fashion_mnist import FashionMnist
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.laplace.kfac import Kfac
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.laplace.structures import Full
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.message_passing.crossed import CrossFitted
from bnnbench.methods.post_hoc.tempered import Tempered
from bnnbench.methods.tuning.method import Tuned
from bnnbench.metrics import CLASSIFICATION, OUT_OF_DISTRIBUTION
from bnnbench.suites.mnist.settings import ADAMW, INFORMED, MLP, MP
from bnnbench.suites.mnist.training_sizes import IVON, METHODS

# Eight settings at a quarter of the longest fit, the best four at half, the best two in full.
# Methods without a length have eight settings. One temperature on held-out images for every method.
HALVED = Tuned(trials=8, blocks=1, lengths=(10, 20, 40), noise="held_out", halving=True)

# Training images per set → number of such sets, which share no image.
SETS = {640: 10, 1280: 10, 320: 10, 2560: 10, 10_240: 5}

DISJOINT = Suite(
    name="mnist",
    title="MNIST from disjoint training sets: equal tuning and tempering for all methods",
    profile="disjoint",
    cases=tuple(
        Case(
            Disjoint(Mnist(), train=size, blocks=sets),
            MLP,
            f"mnist-{size}-disjoint",
            f"MNIST, {sets} disjoint sets of {size:,} images",
        )
        for size, sets in SETS.items()
    ),
    methods={
        "Class frequency": Marginal(),
        "MP informed x3": replace(HALVED, method=Ensemble(3, INFORMED)),
        "Ensemble of 8": replace(HALVED, method=Ensemble(8, ADAMW)),
        "AdamW": replace(HALVED, method=ADAMW),
        "MP informed": replace(HALVED, method=INFORMED),
        "MP cross-fitted": replace(HALVED, method=CrossFitted(INFORMED)),
        "MP cross-fitted x3": replace(HALVED, method=Ensemble(3, CrossFitted(INFORMED))),
        "MP": Tempered(MP),
        "MC dropout": replace(HALVED, method=METHODS["MC dropout"]),
        "MC dropout x4": replace(HALVED, method=Ensemble(4, METHODS["MC dropout"])),
        "IVON": replace(HALVED, method=IVON),
        "MFVI": replace(HALVED, method=METHODS["MFVI"]),
        "SWAG": replace(HALVED, method=METHODS["SWAG"]),
        "KFAC": replace(HALVED, method=Laplace(ADAMW, Kfac(), (300.0,), "mc", draws=32)),
        "Laplace last layer": replace(HALVED, method=Laplace(ADAMW, Full("last"))),
    },
    evaluations=(
        Evaluation(Clean(), CLASSIFICATION),
        Evaluation(Rotated(30), CLASSIFICATION),
        Evaluation(Rotated(60), CLASSIFICATION),
        Evaluation(OutOfDistribution(Limited(FashionMnist(), test=2000)), OUT_OF_DISTRIBUTION),
    ),
    folds=10,
    fitted_together=10,
)
