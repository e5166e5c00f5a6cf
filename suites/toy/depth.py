"""Profiles depth, coverage and coverage_paper: networks of 2 to 6 layers, and of many draws.

Depths are compared on the same rows of a noisy sine; coverage is that of intervals far from them.
"""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.parts import Inside
from bnnbench.datasets.generated.curves import Sine, SineFar
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Reproduces, Suite, TrueFunction
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.networks.catalogue import LEAKY, mlp
from bnnbench.suites.toy.settings import METRICS, RECTIFIED, SINE_ADAMW, SINE_METHODS

# Depths, width, activation, 200 points and the noise, which methods know: paper 000, section 5.1
# and figure 3.
DEPTHS = (2, 3, 4, 5, 6)
DEPTH = Suite(
    name="toy",
    title="Noisy sines: networks of 2 to 6 linear layers on the same rows",
    profile="depth",
    cases=tuple(
        Case(Sine(), mlp([16] * (n - 1), 1, LEAKY), f"sine-{n}", f"sine, {n} linear layers")
        for n in DEPTHS
    ),
    methods=SINE_METHODS,
    own_architectures={
        label: {f"sine-{n}": mlp([16] * (n - 1), 1) for n in DEPTHS} for label in RECTIFIED
    },
    evaluations=(Evaluation(Clean(), METRICS), Evaluation(Inside(), METRICS)),
    reference="HMC",
)


# Network, data and grid: paper 000, section 5.1 and appendix C. The paper has one data set, whose
# draw determines which side is covered better; three are drawn here.
OTHERWISE = (
    "inputs and targets are standardised",
    "message passing takes four rows at a time",
    "the median over x is that of each network's cdf, before networks are counted",
    "PBP, BP, VI and LA have networks of plain ReLU",
)
FEWER = ("20 networks, not 100", *OTHERWISE)
MORE = ("three data sets, not one", *OTHERWISE)
COVERAGE = Suite(
    name="toy",
    title="Noisy sines: how often intervals of many networks contain the truth far from the data",
    profile="coverage",
    cases=(Case(SineFar(), mlp([32, 32], 1, LEAKY)),),
    methods=SINE_METHODS
    | {
        "HMC": Hmc(draws=40, chains=1, warmup=500, thinning=10, leapfrog_steps=100),
        "Ensemble": Ensemble(size=5, member=SINE_ADAMW),
    },
    own_architectures={label: mlp([32, 32], 1) for label in RECTIFIED},
    evaluations=(Evaluation(Clean(), METRICS), Evaluation(Inside(), METRICS)),
    seeds=20,
    reference=TrueFunction(),
    reproduces=(
        Reproduces("000", "sec 5.1", FEWER, whole=False),
        Reproduces("000", "App C", FEWER, whole=False),
    ),
)
COVERAGE_PAPER = replace(
    COVERAGE,
    profile="coverage_paper",
    methods=SINE_METHODS,
    folds=3,
    seeds=100,
    reproduces=(Reproduces("000", "sec 5.1", MORE), Reproduces("000", "App C", MORE)),
)
