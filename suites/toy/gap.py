"""Profile gap: ten draws, boxes around them and the trajectory of SGD."""

from dataclasses import replace

from bnnbench.datasets.generated.cubic import CubicGap
from bnnbench.engine.declare.case import Case
from bnnbench.methods.ciber.collapse import SecondLayer
from bnnbench.methods.ciber.from_draws import CiberOfHmc
from bnnbench.methods.ciber.method import Ciber
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.last_iterate import LastIterate
from bnnbench.methods.trajectory.pca_slices import PcaSlices
from bnnbench.methods.trajectory.pca_vi import PcaVi
from bnnbench.methods.trajectory.sgld import Sgld
from bnnbench.methods.trajectory.swa import Swa
from bnnbench.methods.trajectory.swag import Swag
from bnnbench.suites.toy.cubics import FEW_DRAWS, HMC_VAGUE, QUICK, TWO_LAYERS

# Paper 002, figure 2 and appendix C.1; its cubic, noise, widths and collapsed weights are unknown.
# The descents' settings were not searched: at the sines' learning rate, nothing is learned.
DESCENT = Descent(learning_rate=0.01, weight_decay=1e-3, epochs=2000, batch_size=5, every=20)
GAP = replace(
    QUICK,
    title="Ten draws, boxes around them and the trajectory of SGD: a cubic with a gap",
    profile="gap",
    cases=(Case(CubicGap(), TWO_LAYERS),),
    methods={
        "HMC vague": HMC_VAGUE,
        "HMC vague 10 draws": FEW_DRAWS,
        "CIBER of 10 draws, min/max": CiberOfHmc(FEW_DRAWS, bounds="minmax"),
        "CIBER of 10 draws": CiberOfHmc(FEW_DRAWS),
        "CIBER (second) of 10 draws": CiberOfHmc(FEW_DRAWS, SecondLayer()),
        "SGD constant rate": LastIterate(DESCENT),
        "SWA": Swa(DESCENT),
        "SWAG": Swag(DESCENT),
        "PCA+ESS": PcaSlices(DESCENT),
        "PCA+VI": PcaVi(DESCENT),
        "SGLD": Sgld(learning_rate=0.003, prior_std=1.0, epochs=2000, batch_size=5),
        "CIBER": Ciber(DESCENT),
        "CIBER (second)": Ciber(DESCENT, collapse=SecondLayer()),
    },
    seeds=3,
)
