"""Profile schedules: the schedules of message passing."""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.methods.message_passing.schedule import Coupled, GroupSequential, Sequential, ramp
from bnnbench.methods.networks.architectures import Flatten
from bnnbench.methods.networks.catalogue import LEAKY, mlp
from bnnbench.metrics import CLASSIFICATION
from bnnbench.suites.mnist.settings import ADAMW, MLP, MP
from bnnbench.suites.mnist.training_sizes import QUICK

DEEPER = (Flatten(), *mlp([100, 100], 10, LEAKY))

# Passes and damping of each schedule with the best held-out log loss in the schedules profile of
# suites.searches.mnist: 1,280 images, two seeds; suites/searches/mnist_schedules.csv has all.
# The published schedule takes a step for each image: 102,400 for 5,120 images, a quarter of an
# hour per fit on one core; 1,280 images allow all schedules with all seeds (`--datasets`).
# Plain groups keep an image's own force, as the published equations do; coupled ones remove it.
# The groups of 8 without it separate the two effects.
LONGER = replace(MP, iterations=ramp(8))
SCHEDULES = {
    "MP sequential": replace(LONGER, schedule=Sequential()),
    "MP groups of 4": replace(LONGER, schedule=GroupSequential(4)),
    "MP groups of 8": replace(LONGER, schedule=GroupSequential(8)),
    "MP groups of 8 without own force": replace(
        LONGER, schedule=GroupSequential(8, without_own_force=True)
    ),
    "MP coupled 16": replace(LONGER, schedule=Coupled(16, damping=1.0)),
    "MP coupled 64": replace(LONGER, schedule=Coupled(64, damping=1.0)),
    "MP coupled 128": replace(MP, schedule=Coupled(128)),
}

BY_SCHEDULE = replace(
    QUICK,
    title="MNIST: schedules of message passing",
    profile="schedules",
    cases=tuple(
        Case(
            Limited(Mnist(), train=size),
            network,
            f"mnist-{size}-{short}",
            f"MNIST, {size:,} images, {shown}",
        )
        for size, network, short, shown in (
            (1280, MLP, "mlp", "784-200-10"),
            (5120, MLP, "mlp", "784-200-10"),
            (5120, DEEPER, "mlp2", "784-100-100-10"),
        )
    ),
    methods={"AdamW": ADAMW} | SCHEDULES,
    evaluations=(Evaluation(Clean(), CLASSIFICATION),),
    seeds=3,
    fitted_together=1,  # timings are for single fits
)

# The scale that paper 000 claims, 5.6 million parameters; it states neither network nor data. A few
# images show the costs: a step of the published schedule passes the messages of one image through
# all weights.
WIDE = replace(
    BY_SCHEDULE,
    title="MNIST: message passing in a network of 5.6 million parameters",
    profile="wide",
    cases=(
        Case(
            Limited(Mnist(), train=64, test=500),
            (Flatten(), *mlp([2000, 2000], 10, LEAKY)),
            "mnist-64-wide",
            "MNIST, 64 images, 784-2000-2000-10",
        ),
    ),
    methods={
        "AdamW": ADAMW,
        "MP sequential": replace(SCHEDULES["MP sequential"], iterations=ramp(4)),
        "MP groups of 8": replace(SCHEDULES["MP groups of 8"], iterations=ramp(4)),
        "MP coupled 16": replace(SCHEDULES["MP coupled 16"], iterations=ramp(4)),
    },
    seeds=1,
)
