"""This project's families. A name never changes its distribution; corrections get new names."""

from collections.abc import Mapping

from bnnbench.datasets.official.uci import Uci
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.networks.priors import FixedPrecision
from bnnbench.suites.truth.known.distributions import (
    ClassTargets,
    GaussianTargets,
    NetworkLaw,
    OracleProblem,
    ProcessLaw,
)
from bnnbench.suites.truth.known.making import Recipe

CHAINS = Hmc(
    draws=4000, thinning=1, warmup=400, chains=8, trajectory_length=1.5, leapfrog_steps=200
)
# Rounded from the kernel that maximises the likelihood of the real targets of fold 0.
CONCRETE = ProcessLaw(2.1, (2.1, 2.8, 3.9, 2.9, 2.9, 2.2, 4.1, 0.74))
CLASSES = 3
# Functions four times as large as under a precision of 1, so that most rows have a likely class.
CONFIDENT = FixedPrecision(0.25)

RECIPES: Mapping[str, Recipe] = {
    "yacht-networks": Recipe(
        OracleProblem(
            Uci("yacht"),
            NetworkLaw(mlp([50], 1), FixedPrecision(1.0)),
            GaussianTargets(0.1),
        ),
        CHAINS,
    ),
    "concrete-process": Recipe(
        OracleProblem(Uci("concrete"), CONCRETE, GaussianTargets(0.25)),
    ),
    "energy-classes": Recipe(
        OracleProblem(Uci("energy"), NetworkLaw(mlp([50], CLASSES), CONFIDENT), ClassTargets()),
        CHAINS,
    ),
}
