"""Profile trajectories: methods on the trajectory of SGD."""

from dataclasses import replace

from bnnbench.datasets.cuts.held_out import HeldOut
from bnnbench.datasets.official.uci import Uci
from bnnbench.engine.declare.case import cases_of
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.pca_slices import PcaSlices
from bnnbench.methods.trajectory.pca_vi import PcaVi
from bnnbench.methods.trajectory.schedules import HighThenLow
from bnnbench.methods.trajectory.sgld import Sgld
from bnnbench.methods.trajectory.swag import Swag
from bnnbench.suites.searches.uci.settings import NETWORK
from bnnbench.suites.searches.uci.small_sets import SEARCH

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
