"""Profile variational: DVI and VSD."""

from dataclasses import replace

from bnnbench.methods.dvi.method import Dvi
from bnnbench.methods.dvi.prior import InverseGamma
from bnnbench.methods.vsd.method import Vsd
from bnnbench.suites.searches.uci.trajectories import TRAJECTORIES

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
