"""Profile laplace: approximations around the best weights of AdamW."""

from dataclasses import replace

from bnnbench.methods.laplace.kfac import Kfac
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.laplace.structures import Diagonal, Full, Subnetwork
from bnnbench.methods.neural_linear import NeuralLinear
from bnnbench.suites.searches.uci.settings import ADAMW
from bnnbench.suites.searches.uci.trajectories import TRAJECTORIES

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
