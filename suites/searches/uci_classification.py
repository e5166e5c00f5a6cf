"""Search for the settings of bnnbench.suites.uci_classification, on held-out training rows."""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.held_out import HeldOut
from bnnbench.datasets.official.uci_classification import UciClassification
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.label_smoothing import LabelSmoothing
from bnnbench.methods.laplace.kfac import Kfac
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.laplace.structures import Diagonal, Subnetwork
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.sgd import Sgd
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.schedules import HighThenLow
from bnnbench.methods.trajectory.sgld import Sgld
from bnnbench.methods.trajectory.swag import Swag
from bnnbench.suites.uci_classification.settings import ADAMW

POINTS = {
    f"AdamW lr={rate:g} wd={decay:g}": AdamW(rate, decay, epochs=40, batch_size=32)
    for rate in (1e-3, 3e-3, 1e-2)
    for decay in (1e-2, 1e-1, 1.0, 3.0)
} | {
    f"SGD lr={rate:g}": Sgd(rate, weight_decay=5e-4, epochs=40, batch_size=32)
    for rate in (3e-3, 1e-2, 3e-2)
}
MC_DROPOUT = {
    f"MC dropout rate={dropped:g} lr={rate:g}": McDropout(
        dropped, draws=100, training=AdamW(rate, epochs=40, batch_size=32), where="every"
    )
    for dropped in (0.05, 0.2, 0.4)
    for rate in (3e-3, 1e-2)
}
MFVI = {
    f"MFVI lr={rate:g} prior={prior:g}": Mfvi(
        rate, prior_std=prior, epochs=40, batch_size=32, draws=100
    )
    for rate in (3e-3, 1e-2)
    for prior in (0.1, 0.3, 1.0, 3.0)
}
IVON = {
    f"IVON lr={rate:g} h0={start:g}": Ivon(rate, start, epochs=40, batch_size=32, draws=100)
    for rate in (0.03, 0.1, 0.3)
    for start in (0.1, 0.5, 3.0)
}
TRAJECTORIES = {
    f"SWAG lr={rate:g} wd={decay:g}": Swag(
        Descent(
            rate, weight_decay=decay, epochs=100, batch_size=32, schedule=HighThenLow(0.1)
        )
    )
    for rate in (3e-3, 1e-2, 3e-2)
    for decay in (1e-3, 1e-2, 3e-2)
} | {
    f"SGLD lr={rate:g} T={temperature:g}": Sgld(
        rate, temperature=temperature, epochs=100, batch_size=32
    )
    for rate in (1e-2, 3e-2, 1e-1)
    for temperature in (0.1, 1.0)
}  # fmt: skip
SEARCH = Suite(
    name="uci_classification_search",
    title="Held-out scores of candidate settings for the classification of tables",
    profile="quick",
    cases=tuple(
        Case(HeldOut(UciClassification(name)), mlp([50], outputs=classes))
        for name, classes in (
            *(("ecoli", 8), ("german", 2), ("glass", 6)),
            *(("haberman", 2), ("oil_spill", 2), ("thyroid", 3)),
        )
    ),
    methods=POINTS | MC_DROPOUT | MFVI | IVON | TRAJECTORIES,
    evaluations=(Evaluation(Clean(), ("nll", "balanced_accuracy", "ece")),),
    folds=3,
)

# Around the weights of the best AdamW.
PRECISIONS = (0.1, 1.0, 10.0, 100.0)
LAPLACE = replace(
    SEARCH,
    profile="laplace",
    methods={f"diagonal {p:g}": Laplace(ADAMW, Diagonal(), (p,)) for p in PRECISIONS}
    | {f"KFAC {p:g}": Laplace(ADAMW, Kfac(), (p,)) for p in PRECISIONS}
    | {f"subnetwork {p:g}": Laplace(ADAMW, Subnetwork(300), (p,)) for p in PRECISIONS}
    | {f"KFAC by draws {p:g}": Laplace(ADAMW, Kfac(), (p,), "mc") for p in PRECISIONS}
    | {f"smoothing {s:g}": LabelSmoothing(share=s, training=ADAMW) for s in (0.01, 0.03, 0.1)},
)

SUITES = {"quick": SEARCH, "laplace": LAPLACE}
