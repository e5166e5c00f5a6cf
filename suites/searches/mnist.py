"""Search for the settings of bnnbench.suites.mnist, on held-out training images."""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.held_out import HeldOut
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.priors import SpectralPrior
from bnnbench.methods.message_passing.schedule import Coupled, GroupSequential, Sequential, ramp
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.networks.architectures import Flatten
from bnnbench.methods.networks.catalogue import LEAKY, lenet_000, mlp
from bnnbench.methods.sgd import Sgd

ADAMW = {
    f"AdamW lr={rate:g} wd={decay:g}": AdamW(rate, decay, epochs=20, batch_size=64)
    for rate in (1e-3, 3e-3, 1e-2)
    for decay in (1e-2, 1e-1)
}
SGD = {
    f"SGD lr={rate:g}": Sgd(rate, weight_decay=5e-4, epochs=20, batch_size=64)
    for rate in (1e-2, 3e-2, 1e-1)
}
MC_DROPOUT = {
    f"MC dropout rate={dropped:g}": McDropout(
        dropped, draws=32, training=AdamW(3e-3, epochs=20, batch_size=64), where="every"
    )
    for dropped in (0.1, 0.2, 0.4)
}
MFVI = {
    f"MFVI lr={rate:g} prior={prior:g}": Mfvi(rate, prior, epochs=20, batch_size=64)
    for rate in (3e-3, 1e-2)
    for prior in (0.05, 0.1, 0.3)
}
IVON = {
    f"IVON lr={rate:g} h0={start:g}": Ivon(rate, start, epochs=20, batch_size=64, draws=32)
    for rate in (0.03, 0.1, 0.3)
    for start in (0.1, 0.5, 1.0)
}

MP_PRIORS = {
    f"MP means={means:g} scale={scale:g}": MessagePassing(
        ramp(6), schedule=Coupled(64), prior=SpectralPrior(scale=scale, mean_scale=means)
    )
    for means in (1.0, 1.5, 2.0, 3.0)
    for scale in (0.1, 0.25, 1.0)
}
PUBLISHED_MP = MP_PRIORS["MP means=1 scale=1"]
MP = MP_PRIORS | {
    "MP damping=1": replace(PUBLISHED_MP, schedule=Coupled(64, damping=1.0)),
    "MP epochs=8": replace(PUBLISHED_MP, iterations=ramp(8)),
    "MP damping=1 epochs=8": replace(
        PUBLISHED_MP, schedule=Coupled(64, damping=1.0), iterations=ramp(8)
    ),
    "MP classes=largest": replace(PUBLISHED_MP, class_probabilities="largest"),
}

MLP = (Flatten(), *mlp([200], 10, LEAKY))
HELD_OUT = HeldOut(Limited(Mnist(), train=3200))
SEARCH = Suite(
    name="mnist_search",
    title="Held-out scores of candidate settings for the MNIST suite",
    profile="quick",
    cases=(
        Case(HELD_OUT, MLP, "mnist-2560-mlp", "MNIST, 2,560 images, MLP"),
        Case(HELD_OUT, lenet_000(), "mnist-2560-lenet", "MNIST, 2,560 images, LeNet"),
    ),
    methods=ADAMW | SGD | MC_DROPOUT | MFVI | IVON | MP,
    evaluations=(Evaluation(Clean(), ("nll", "accuracy", "ece")),),
)

# The number of epochs and the step size of each schedule of message passing.
STEPS = (0.5, 1.0)
SCHEDULES = {
    "sequential": Sequential(),
    **{f"groups of {n} damping={d:g}": GroupSequential(n, d) for n in (4, 8) for d in STEPS},
    **{f"groups of 8 without own force damping={d:g}": GroupSequential(8, d, True) for d in STEPS},
    **{f"coupled {n} damping={d:g}": Coupled(n, d) for n in (16, 64, 128) for d in STEPS},
}
BY_SCHEDULE = replace(
    SEARCH,
    title="Held-out scores of candidate settings for the schedules of message passing",
    profile="schedules",
    cases=(
        Case(
            HeldOut(Limited(Mnist(), train=5000), share=0.744),
            MLP,
            "mnist-1280-mlp",
            "MNIST, 1,280 images, MLP",
        ),
    ),
    methods={
        f"MP {label} epochs={epochs}": MessagePassing(iterations=ramp(epochs), schedule=schedule)
        for label, schedule in SCHEDULES.items()
        for epochs in (4, 6, 8)
    },
    seeds=2,
)

SUITES = {"quick": SEARCH, "schedules": BY_SCHEDULE}
