"""Profile paper: the experiment of paper 000."""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.out_of_distribution import OutOfDistribution
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.datasets.official.cifar100 import Cifar100
from bnnbench.datasets.official.svhn import Svhn
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Reproduces, Suite
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.message_passing.informed import InformedPrior
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.schedule import Coupled, ramp
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.networks.catalogue import cnn_000
from bnnbench.methods.post_hoc.tempered import Tempered
from bnnbench.methods.sgd import Sgd
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.schedules import HighThenLow
from bnnbench.methods.trajectory.sgld import Sgld
from bnnbench.methods.trajectory.swa import Swa
from bnnbench.methods.trajectory.swag import Swag
from bnnbench.metrics import CIFAR10_COSTS, CLASSIFICATION, JOINT, OUT_OF_DISTRIBUTION
from bnnbench.suites.cifar10.settings import MP, TITLE
from bnnbench.suites.departures import OF_TABLE_1_OF_000

# 25 epochs, batch 128 and cosine annealing: paper 000, appendix C.
ADAMW = AdamW(learning_rate=1e-3, weight_decay=1e-4)
# Learning rate 0.1 and effective sample size 50000, otherwise defaults: the paper's script.
IVON = Ivon(learning_rate=0.1, effective_sample_size=50_000.0, draws=100)
# Tempering, SGD, MC dropout, ensemble, MFVI, SWA, SWAG and SGLD are not in the paper; their
# settings are customary and were not searched at this size.
TRAJECTORY = Descent(
    learning_rate=0.05, weight_decay=5e-4, epochs=25, batch_size=128, schedule=HighThenLow(0.2)
)
# 25 epochs of the published rounds; groups of 32 examples that are solved jointly replace the
# published order, one example after another.
PUBLISHED_MP = MessagePassing(iterations=ramp(25), schedule=Coupled(32), backend="fused")
# Not in the paper: the prior means are weights after a quarter of AdamW's epochs, and messages have
# the rounds that are best with few digits (bnnbench.suites.mnist.disjoint).
INFORMED_MP = replace(
    PUBLISHED_MP,
    iterations=(1, 1, 2, 2),
    prior=InformedPrior(replace(ADAMW, epochs=6)),
    predictive_variance=1.0,
)
PAPER = Suite(
    name="cifar10",
    title=TITLE,
    profile="paper",
    cases=(Case(Cifar10(), cnn_000()),),
    methods={
        "Class frequency": Marginal(),
        "AdamW": ADAMW,
        # The paper's text states weight decay 1e-4, its script uses torch's default.
        "AdamW (script)": AdamW(learning_rate=1e-3, weight_decay=1e-2),
        "AdamW (tempered)": Tempered(ADAMW),
        "SGD": Sgd(learning_rate=0.05, weight_decay=5e-4),
        "MC dropout": McDropout(rate=0.2, draws=100, training=ADAMW),
        "Ensemble": Ensemble(size=5, member=ADAMW),
        "MFVI": Mfvi(learning_rate=1e-3, prior_std=1.0, draws=100),
        "IVON@mean": replace(IVON, draws=0),
        "IVON": IVON,
        "SWA": Swa(TRAJECTORY),
        "SWAG": Swag(TRAJECTORY),
        "SGLD": Sgld(learning_rate=0.1, prior_std=0.1, epochs=25),
        "MP": PUBLISHED_MP,
        # With the prior, targets and prediction rule of the quick profile.
        "MP, larger means": replace(MP, iterations=ramp(25), backend="fused"),
        "MP informed": INFORMED_MP,
        "MP informed (tempered)": Tempered(INFORMED_MP),
    },
    evaluations=(
        Evaluation(Clean(), (*CLASSIFICATION, *JOINT, *CIFAR10_COSTS)),
        Evaluation(OutOfDistribution(Svhn()), OUT_OF_DISTRIBUTION),
        # According to its script, the paper's message passing received SVHN in this form; its other
        # methods did not.
        Evaluation(OutOfDistribution(Svhn(), normalised=False), OUT_OF_DISTRIBUTION),
        Evaluation(OutOfDistribution(Cifar100()), OUT_OF_DISTRIBUTION),
    ),
    seeds=5,
    fitted_together=1,
    reproduces=(Reproduces("000", "1", OF_TABLE_1_OF_000),),
)
