"""Profiles trajectories, laplace and variational: SGD's trajectory, AdamW's optimum, DVI, VSD."""

from dataclasses import replace

from bnnbench.datasets.cuts.held_out import HeldOut
from bnnbench.datasets.official.uci import Uci
from bnnbench.engine.declare.case import cases_of
from bnnbench.methods.dvi.method import Dvi
from bnnbench.methods.dvi.prior import InverseGamma
from bnnbench.methods.laplace.kfac import Kfac
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.laplace.structures import Diagonal, Full, Subnetwork
from bnnbench.methods.neural_linear import NeuralLinear
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.pca_slices import PcaSlices
from bnnbench.methods.trajectory.pca_vi import PcaVi
from bnnbench.methods.trajectory.schedules import HighThenLow
from bnnbench.methods.trajectory.sgld import Sgld
from bnnbench.methods.trajectory.swag import Swag
from bnnbench.methods.vsd.method import Vsd
from bnnbench.suites.searches.uci.small_sets import ADAMW, NETWORK, SEARCH

DESCENTS = {
    f"lr={rate:g} low={low:g} wd={decay:g}": Descent(
        rate, weight_decay=decay, epochs=100, batch_size=32, schedule=HighThenLow(low)
    )
    for rate in (1e-2, 2e-2)
    for low in (0.1, 0.3)
    for decay in (1e-3, 1e-2)
}
SWAG = {f"SWAG {label}": Swag(descent) for label, descent in DESCENTS.items()}
SGLD = {
    f"SGLD lr={rate:g} T={temperature:g}": Sgld(
        rate, temperature=temperature, epochs=100, batch_size=32
    )
    for rate in (1e-2, 3e-2, 1e-1)
    for temperature in (0.1, 1.0)
}
PCA_SLICES = {
    f"PCA+ESS T={temperature}": PcaSlices(
        DESCENTS["lr=0.01 low=0.1 wd=0.01"], temperature=temperature
    )
    for temperature in (None, 1.0, 1e3)
}
PCA_VI = {
    f"PCA+VI T={temperature}": PcaVi(DESCENTS["lr=0.01 low=0.1 wd=0.01"], temperature=temperature)
    for temperature in (None, 1.0, 1e3)
}

# The small sets of paper 002, which searches settings for each set; here one setting for all.
TRAJECTORIES = replace(
    SEARCH,
    profile="trajectories",
    cases=cases_of(
        (
            HeldOut(Uci("boston")), HeldOut(Uci("concrete")), HeldOut(Uci("energy")),
            HeldOut(Uci("wine_red")), HeldOut(Uci("yacht")),
        ),
        NETWORK,
    ),
    methods=SWAG | SGLD | PCA_SLICES | PCA_VI,
)  # fmt: skip


# Around the best AdamW. The evidence chooses the noise as well.
TRAINED = ADAMW["AdamW lr=0.01 wd=0.01"]
PRIORS = {"evidence": (), "1": (1.0,), "10": (10.0,), "100": (100.0,)}
STRUCTURES = {
    "diagonal": Diagonal(),
    "KFAC": Kfac(),
    "full": Full(),
    "last": Full("last"),
    "subnetwork": Subnetwork(300),
}
LAPLACE = {
    f"Laplace {name} prior={prior}": Laplace(TRAINED, structure, precisions)
    for name, structure in STRUCTURES.items()
    for prior, precisions in PRIORS.items()
} | {
    f"Laplace KFAC draws prior={prior}": Laplace(TRAINED, Kfac(), precisions, "mc")
    for prior, precisions in {
        "evidence": (),
        "30": (30.0,),
        "100": (100.0,),
        "1000": (1e3,),
    }.items()
}
NEURAL_LINEAR = {
    f"NL rate={rate:g}": NeuralLinear(TRAINED, noise_rate=rate) for rate in (5e-4, 5e-3, 5e-2)
} | {"NL bandits": NeuralLinear(TRAINED, 0.25, noise_shape=6.0, noise_rate=6.0)}

CURVATURES = replace(TRAJECTORIES, profile="laplace", methods=LAPLACE | NEURAL_LINEAR)


# One hidden layer: covariances between units affect only the covariance of the two outputs.
DVI = {
    f"DVI rate={rate:g} epochs={epochs}": Dvi(
        hyperprior=InverseGamma(1.0, rate), epochs=epochs, batch_size=32
    )
    for rate in (10.0, 100.0)
    for epochs in (100, 300)
} | {
    f"DVI rate=100 epochs=300 std={start:g}": Dvi(
        hyperprior=InverseGamma(1.0, 100.0), initial_std=start, epochs=300, batch_size=32
    )
    for start in (0.003, 0.01)
}
VSD = {
    f"VSD variance={variance:g} epochs={epochs}": Vsd(
        initial_variance=variance, epochs=epochs, batch_size=32
    )
    for variance in (0.01, 0.1)
    for epochs in (40, 100)
} | {"VSD own factors": Vsd(sharing="none", epochs=100, batch_size=32)}
VARIATIONAL = replace(TRAJECTORIES, profile="variational", methods=DVI | VSD)
