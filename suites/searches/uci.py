"""The search for the settings of bnnbench.suites.uci, on training rows held out of each fold."""

from dataclasses import replace

from bnnbench.datasets.conditions.base import Clean
from bnnbench.datasets.cuts.held_out import HeldOut
from bnnbench.datasets.official.uci import Uci
from bnnbench.datasets.official.uci_large import UciLarge
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ciber.method import Ciber
from bnnbench.methods.dvi.method import Dvi
from bnnbench.methods.dvi.prior import InverseGamma
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.laplace.kfac import Kfac
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.laplace.structures import Diagonal, Full, Subnetwork
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.neural_linear import NeuralLinear
from bnnbench.methods.sgd import Sgd
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.pca_slices import PcaSlices
from bnnbench.methods.trajectory.pca_vi import PcaVi
from bnnbench.methods.trajectory.schedules import HighThenLow
from bnnbench.methods.trajectory.sgld import Sgld
from bnnbench.methods.trajectory.swag import Swag
from bnnbench.methods.vsd.method import Vsd
from bnnbench.suites.engine.command.cli import main
from bnnbench.suites.engine.declare.case import Case, cases_of
from bnnbench.suites.engine.declare.grid import Evaluation, Suite

ADAMW = {
    f"AdamW lr={rate:g} wd={decay:g}": AdamW(rate, decay, epochs=40, batch_size=32)
    for rate in (1e-2, 3e-2)
    for decay in (1e-2, 1e-1)
}
SGD = {
    f"SGD lr={rate:g} wd={decay:g}": Sgd(rate, weight_decay=decay, epochs=40, batch_size=32)
    for rate in (1e-2, 3e-2, 1e-1)
    for decay in (5e-5, 5e-4)
}
MC_DROPOUT = {
    f"MC dropout rate={dropped:g} lr={rate:g}": McDropout(
        dropped, draws=32, training=AdamW(rate, epochs=40, batch_size=32)
    )
    for dropped in (5e-3, 1e-2, 2e-2)
    for rate in (1e-2, 3e-2)
}
ENSEMBLE = {
    f"Ensemble lr={rate:g} wd={decay:g}": Ensemble(5, AdamW(rate, decay, epochs=40, batch_size=32))
    for rate in (1e-2, 3e-2)
    for decay in (1e-2, 1e-1)
}
MFVI = {
    f"MFVI lr={rate:g} prior={prior:g}": Mfvi(rate, prior, epochs=40, batch_size=32)
    for rate in (3e-3, 1e-2)
    for prior in (1.0, 2.0)
}
IVON = {
    f"IVON lr={rate:g} h0={start:g} beta2={beta2:g}": Ivon(
        rate, start, beta2=beta2, epochs=40, batch_size=32, draws=32
    )
    for rate in (0.1, 0.3)
    for start in (3.0, 10.0, 30.0)
    for beta2 in (0.999, 0.9999)
}
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
# One hidden layer: covariances between units matter to those of both outputs alone.
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

NETWORK = mlp([50], outputs=1)
SEARCH = Suite(
    name="uci_search",
    title="Held-out scores of candidate settings for the UCI suite",
    profile="quick",
    cases=(
        *cases_of(
            (
                HeldOut(Uci("boston")), HeldOut(Uci("concrete")), HeldOut(Uci("energy")),
                HeldOut(Uci("kin8nm")), HeldOut(Uci("naval")), HeldOut(Uci("power")),
            ),
            NETWORK,
        ),
        Case(HeldOut(Uci("protein")), mlp([100], outputs=1)),
        *cases_of((HeldOut(Uci("wine_red")), HeldOut(Uci("yacht"))), NETWORK),
    ),
    methods=ADAMW | SGD | MC_DROPOUT | ENSEMBLE | MFVI | IVON,
    evaluations=(Evaluation(Clean(), ("log_likelihood_standardised", "rmse")),),
    folds=3,
)  # fmt: skip

# The small sets of paper 002, whose settings are searched for by set; here one for all.
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

CURVATURES = replace(TRAJECTORIES, profile="laplace", methods=LAPLACE | NEURAL_LINEAR)
VARIATIONAL = replace(TRAJECTORIES, profile="variational", methods=DVI | VSD)

# The large sets of paper 002 with networks of its depth but a tenth of its width. One descent for
# SWAG and CIBER, so that both have a say.
SLOWER = {
    f"lr={rate:g} low={low:g} epochs=20": Descent(
        rate, weight_decay=1e-4, epochs=20, batch_size=200, schedule=HighThenLow(low)
    )
    for rate in (1e-3, 2e-3, 3e-3)
    for low in (0.3, 1.0)
}
FASTER = {
    f"lr={rate:g} low={low:g} epochs=40": Descent(
        rate, weight_decay=1e-4, epochs=40, batch_size=200, schedule=HighThenLow(low)
    )
    for rate in (5e-3, 1e-2)
    for low in (0.1, 0.3)
}
DEEP = mlp([100, 100, 50], outputs=1)
LARGE = replace(
    SEARCH,
    profile="large",
    cases=cases_of(
        (
            HeldOut(UciLarge("elevators")), HeldOut(UciLarge("keggdirected")),
            HeldOut(UciLarge("keggundirected")), HeldOut(UciLarge("pol")),
            HeldOut(UciLarge("protein")), HeldOut(UciLarge("skillcraft")),
        ),
        DEEP,
    ),
    methods={f"SWAG {label}": Swag(descent) for label, descent in SLOWER.items()}
    | {f"CIBER {label}": Ciber(descent) for label, descent in SLOWER.items()},
    folds=1,
)  # fmt: skip
# On the kegg sets these diverge.
LARGE_FASTER = replace(
    LARGE,
    profile="large_faster",
    cases=cases_of(
        (
            HeldOut(UciLarge("elevators")), HeldOut(UciLarge("pol")),
            HeldOut(UciLarge("protein")), HeldOut(UciLarge("skillcraft")),
        ),
        DEEP,
    ),
    methods={f"SWAG {label}": Swag(descent) for label, descent in FASTER.items()}
    | {f"CIBER {label}": Ciber(descent) for label, descent in FASTER.items()},
)  # fmt: skip

SUITES = {
    "quick": SEARCH,
    "trajectories": TRAJECTORIES,
    "laplace": CURVATURES,
    "variational": VARIATIONAL,
    "large": LARGE,
    "large_faster": LARGE_FASTER,
}

if __name__ == "__main__":
    main(SUITES)
