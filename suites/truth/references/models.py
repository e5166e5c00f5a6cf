"""The reference posteriors of this project: models, and sampler settings that converge."""

from collections.abc import Mapping
from dataclasses import replace

from bnnbench.datasets.official.uci import Uci
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.networks.architectures import Tanh
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.networks.priors import FixedPrecision
from bnnbench.suites.truth.references.model import FixedNoise, Model, Recipe

# Masses and lengths were chosen only by convergence, and no choice depends on a test target.
WIDE = Hmc(
    draws=6000, thinning=1, warmup=500, chains=8, trajectory_length=1.5, leapfrog_steps=200,
    prior_precision=1.0,
)  # fmt: skip
# Networks of 10 units mix more slowly.
NARROW = replace(WIDE, draws=40_000, warmup=1000, trajectory_length=1.0)
# Two runs of 6,000 draws differ by 4.2 standard errors at one test row of boston, 4.1 of concrete.
LONGER = replace(WIDE, draws=16_000)
# The steps on energy are so short that the others' trajectories would end far too early.
LONG = replace(WIDE, leapfrog_steps=500)

ONE = FixedPrecision(1.0)
YACHT, BOSTON, CONCRETE, WINE = Uci("yacht"), Uci("boston"), Uci("concrete"), Uci("wine_red")
# Standardised noise: near the error of such networks, but above it for yacht, whose posterior
# already needs steps of 0.01.
QUIET, LOUD, LOUDEST = FixedNoise(0.1), FixedNoise(0.3), FixedNoise(0.8)
RELU_10, RELU_50 = mlp([10], 1), mlp([50], 1)
TANH_10, TANH_50 = mlp([10], 1, Tanh()), mlp([50], 1, Tanh())

RECIPES: Mapping[str, Recipe] = {
    "yacht-relu50": Recipe(Model(YACHT, 0, RELU_50, ONE, QUIET), WIDE),
    "boston-relu50": Recipe(Model(BOSTON, 0, RELU_50, ONE, LOUD), LONGER),
    "yacht-tanh50": Recipe(Model(YACHT, 0, TANH_50, ONE, QUIET), WIDE),
    "boston-tanh50": Recipe(Model(BOSTON, 0, TANH_50, ONE, LOUD), WIDE),
    "boston-relu10": Recipe(Model(BOSTON, 0, RELU_10, ONE, LOUD), NARROW),
    "yacht-relu10": Recipe(Model(YACHT, 0, RELU_10, ONE, QUIET), NARROW),
    "boston-tanh10": Recipe(Model(BOSTON, 0, TANH_10, ONE, LOUD), NARROW),
    "yacht-tanh10": Recipe(Model(YACHT, 0, TANH_10, ONE, QUIET), NARROW),
    "wine_red-relu50": Recipe(Model(WINE, 0, RELU_50, ONE, LOUDEST), WIDE),
    "concrete-relu50": Recipe(Model(CONCRETE, 0, RELU_50, ONE, LOUD), LONGER),
    "energy-relu50": Recipe(Model(Uci("energy"), 0, RELU_50, ONE, QUIET), LONG),
}
"""Name → recipe. A name never changes its model; a corrected one gets a new name."""
