"""Profiles quick and paper: a perceptron and a LeNet learn from few and from many images."""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.out_of_distribution import OutOfDistribution
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.fashion_mnist import FashionMnist
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.networks.catalogue import lenet_000
from bnnbench.methods.post_hoc.tempered import Tempered
from bnnbench.methods.sgd import Sgd
from bnnbench.methods.trajectory.swa import Swa
from bnnbench.methods.trajectory.swag import Swag
from bnnbench.metrics import CLASSIFICATION, DIGIT_COSTS, JOINT, OUT_OF_DISTRIBUTION
from bnnbench.suites.mnist.settings import ADAMW, MLP, MP, TRAJECTORY

TITLE = "MNIST: a perceptron and a LeNet learn from few and from many images"

# Networks and numbers of images: the scripts behind paper 000, which prints no table of them.
SIZES = (640, 2560, 10240, 60000)
LENET = lenet_000()
ENSEMBLE = Ensemble(size=5, member=ADAMW)
# Settings from the same search as in settings.py.
IVON = Ivon(learning_rate=0.3, initial_hessian=0.5, epochs=20, batch_size=64, draws=32)
METHODS = {
    "Class frequency": Marginal(),
    "AdamW": ADAMW,
    "AdamW (tempered)": Tempered(ADAMW),
    "SGD": Sgd(learning_rate=0.01, weight_decay=5e-4, epochs=20, batch_size=64),
    "MC dropout": McDropout(
        rate=0.2,
        draws=32,
        training=AdamW(learning_rate=3e-3, epochs=20, batch_size=64),
        where="every",
    ),
    "Ensemble": ENSEMBLE,
    "Ensemble (tempered)": Tempered(ENSEMBLE),
    "MFVI": Mfvi(learning_rate=3e-3, prior_std=0.3, epochs=20, batch_size=64, draws=32),
    "IVON@mean": replace(IVON, draws=0),
    "IVON": IVON,
    "SWA": Swa(TRAJECTORY),
    "SWAG": Swag(TRAJECTORY, draws=32),
    "MP": MP,
}

QUICK = Suite(
    name="mnist",
    title=TITLE,
    profile="quick",
    cases=tuple(
        Case(
            Limited(Mnist(), train=size, test=2000),
            network,
            f"mnist-{size}-{short}",
            f"MNIST, {size:,} images, {shown}",
        )
        for size, network, short, shown in (
            (640, MLP, "mlp", "MLP"),
            (10240, MLP, "mlp", "MLP"),
            (2560, LENET, "lenet", "LeNet"),
        )
    ),
    methods=METHODS,
    evaluations=(
        Evaluation(Clean(), (*CLASSIFICATION, *JOINT, *DIGIT_COSTS)),
        Evaluation(OutOfDistribution(Limited(FashionMnist(), test=1000)), OUT_OF_DISTRIBUTION),
    ),
    seeds=3,
)

PAPER = replace(
    QUICK,
    profile="paper",
    cases=tuple(
        Case(
            Limited(Mnist(), train=size),
            network,
            f"mnist-{size}-{short}",
            f"MNIST, {size:,} images, {shown}",
        )
        for network, short, shown in ((MLP, "mlp", "MLP"), (LENET, "lenet", "LeNet"))
        for size in SIZES
    ),
    evaluations=(
        Evaluation(Clean(), (*CLASSIFICATION, *JOINT, *DIGIT_COSTS)),
        Evaluation(OutOfDistribution(FashionMnist()), OUT_OF_DISTRIBUTION),
    ),
    seeds=3,
)
