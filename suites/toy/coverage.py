"""Profiles coverage and coverage_paper: intervals of many networks far from the data."""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.parts import Inside
from bnnbench.datasets.generated.curves import SineFar
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite, TrueFunction
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.networks.catalogue import LEAKY, mlp
from bnnbench.suites.following import following
from bnnbench.suites.probes.far_cdf import FarCdf
from bnnbench.suites.toy.settings import METRICS, RECTIFIED, SINE_ADAMW, SINE_METHODS

# Network, data and grid: paper 000, section 5.1 and appendix C. The paper has one data set, whose
# draw determines which side is covered better; three are drawn here.
OTHERWISE = (
    "inputs and targets are standardised",
    "message passing takes four rows at a time",
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
    reproduces=following("toy/coverage", "000", ("sec 5.1", "App C"), *FEWER, whole=False),
)
# Quantiles by position, as in appendix C: coverage at each position, then its median.
BY_POSITION = replace(
    COVERAGE,
    title="Noisy sines: coverage at each position far from the data, and its median",
    profile="coverage_by_position",
    methods={"MP": SINE_METHODS["MP"]},
    own_architectures={},
    probes=(FarCdf(),),
    folds=10,
    seeds=100,
    reproduces=following(
        "toy/coverage_by_position",
        "000",
        ("sec 5.1", "App C"),
        "ten data sets, not one",
        *OTHERWISE[:2],
    ),
)
COVERAGE_PAPER = replace(
    COVERAGE,
    profile="coverage_paper",
    methods=SINE_METHODS,
    folds=3,
    seeds=100,
    reproduces=following("toy/coverage_paper", "000", ("sec 5.1", "App C"), *MORE),
)
