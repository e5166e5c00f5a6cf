"""Digits learned from 640 to 60,000 images by a perceptron and a LeNet; clothing as other data."""

from dataclasses import replace

from datasets.conditions import Clean, OutOfDistribution
from datasets.fashion_mnist import FashionMnist
from datasets.limited import Limited
from datasets.mnist import Mnist
from datasets.renamed import Renamed
from methods.adamw import AdamW
from methods.architectures import Flatten
from methods.ensemble import Ensemble
from methods.ivon import Ivon
from methods.marginal import Marginal
from methods.mc_dropout import McDropout
from methods.mfvi import Mfvi
from methods.networks import LEAKY, lenet_000, mlp
from methods.sgd import Sgd
from metrics import CLASSIFICATION, OUT_OF_DISTRIBUTION
from suites.engine.cli import main
from suites.engine.grid import Evaluation, Suite

TITLE = "MNIST: a perceptron and a LeNet learn from few and from many images"

# Networks and numbers of images: the scripts behind paper 000, which prints no table of them.
SIZES = (640, 2560, 10240, 60000)
MLP = (Flatten(), *mlp([200], 10, LEAKY))
LENET = lenet_000()
NETWORKS = {f"mnist-{size}-mlp": MLP for size in SIZES} | {
    f"mnist-{size}-lenet": LENET for size in SIZES
}

# Settings with the best held-out log loss, averaged over both networks, in suites.mnist_search:
# 2,560 images and 20 epochs of batches of 64. All its scores are in suites/searches/mnist.csv.
ADAMW = AdamW(learning_rate=3e-3, weight_decay=1e-1, epochs=20, batch_size=64)
IVON = Ivon(learning_rate=0.1, initial_hessian=0.5, epochs=20, batch_size=64, draws=32)
METHODS = {
    "Class frequency": Marginal(),
    "AdamW": ADAMW,
    "SGD": Sgd(learning_rate=0.03, weight_decay=5e-4, epochs=20, batch_size=64),
    "MC dropout": McDropout(
        rate=0.2, draws=32, training=AdamW(learning_rate=3e-3, epochs=20, batch_size=64)
    ),
    "Ensemble": Ensemble(size=5, member=ADAMW),
    "MFVI": Mfvi(learning_rate=1e-2, prior_std=0.1, epochs=20, batch_size=64, draws=32),
    "IVON@mean": replace(IVON, draws=0),
    "IVON": IVON,
}

QUICK = Suite(
    name="mnist",
    title=TITLE,
    profile="quick",
    sources=(
        Renamed(Limited(Mnist(), train=640, test=2000), "mnist-640-mlp"),
        Renamed(Limited(Mnist(), train=10240, test=2000), "mnist-10240-mlp"),
        Renamed(Limited(Mnist(), train=2560, test=2000), "mnist-2560-lenet"),
    ),
    methods=METHODS,
    architecture=NETWORKS,
    evaluations=(
        Evaluation(Clean(), CLASSIFICATION),
        Evaluation(OutOfDistribution(Limited(FashionMnist(), test=1000)), OUT_OF_DISTRIBUTION),
    ),
    seeds=2,
)

PAPER = replace(
    QUICK,
    profile="paper",
    sources=tuple(
        Renamed(Limited(Mnist(), train=size), f"mnist-{size}-{network}")
        for network in ("mlp", "lenet")
        for size in SIZES
    ),
    evaluations=(
        Evaluation(Clean(), CLASSIFICATION),
        Evaluation(OutOfDistribution(FashionMnist()), OUT_OF_DISTRIBUTION),
    ),
    seeds=3,
)

SUITES = {"quick": QUICK, "paper": PAPER}

if __name__ == "__main__":
    main(SUITES)
