"""Profiles quick, full and tanh: real data, and posteriors certified by long chains.

A case is a network, a prior of all weights and a noise, on one fold of a UCI set; its reference has
the case's name (`bnnbench truth list`). The noise is part of the model, so that
methods differ only in their weights. Methods have the settings of `suites.uci`, which were
searched with a learned noise: a distance measures a method with these settings, not the best that
its family could achieve.
"""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.known_noise import KnownNoise
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Certified, Evaluation, Suite
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.laplace.structures import Full
from bnnbench.methods.map_estimate import MapEstimate
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.trajectory.sgld import Sgld
from bnnbench.suites.truth.references.models import RECIPES
from bnnbench.suites.uci.settings import ADAMW, METHODS

CASES = {
    name: Case(
        KnownNoise(recipe.model.source, recipe.model.noise.std),
        recipe.model.architecture,
        name,
        prior=recipe.model.prior,
    )
    for name, recipe in RECIPES.items()
}
MODE = MapEstimate(learning_rate=1e-2, epochs=3000)
SHORT = Hmc(draws=20, chains=1, warmup=20, thinning=1, leapfrog_steps=100)
EVERY = {
    "HMC 1 chain": Hmc(draws=100, chains=1, warmup=50, thinning=1, leapfrog_steps=100),
    "HMC short": SHORT,
    "MFVI": Mfvi(learning_rate=1e-2, initial_std=0.05, epochs=600, batch_size=32, draws=1000),
    "MFVI 40 epochs": Mfvi(
        learning_rate=1e-2, initial_std=0.05, epochs=40, batch_size=32, draws=1000
    ),
    "SGLD": Sgld(learning_rate=1e-3, epochs=1000, batch_size=32, draws=300),
    "AdamW": ADAMW,
    "Ensemble": METHODS["Ensemble"],
    "Ensemble of 10": Ensemble(size=10, member=replace(ADAMW, epochs=400)),
    "MAP ensemble of 10": Ensemble(size=10, member=MODE),
    "MC dropout": METHODS["MC dropout"],
    "SWAG": METHODS["SWAG"],
    "IVON": replace(METHODS["IVON"], learning_rate=1e-2),  # 0.1 diverges with such noise
    "Laplace full": Laplace(MODE, Full(), prior="given"),
    "Laplace diagonal": METHODS["Laplace diagonal"],
    "Laplace KFAC": METHODS["Laplace KFAC"],
    "KFAC": METHODS["KFAC"],
}
# PBP supports only rectified networks.
RECTIFIED = EVERY | {"PBP": METHODS["PBP"]}

QUICK = Suite(
    name="truth",
    title="Distance to certified posteriors, and excess risk under known data distributions",
    profile="quick",
    cases=(CASES["yacht-relu50"], CASES["yacht-relu10"], CASES["boston-relu10"]),
    methods=RECTIFIED,
    evaluations=(Evaluation(Clean(), ("log_likelihood", "rmse", "crps")),),
    reference=Certified(),
)
MORE = ("boston-relu50", "wine_red-relu50")
FULL = replace(
    QUICK, profile="full", cases=(*QUICK.cases, *(CASES[name] for name in MORE)), seeds=5
)
SMOOTH = ("yacht-tanh50", "yacht-tanh10", "boston-tanh50")
TANH = replace(FULL, profile="tanh", cases=tuple(CASES[name] for name in SMOOTH), methods=EVERY)
