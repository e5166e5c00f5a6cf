"""Profile quick: point estimates, ensembles and variational inference on all small sets."""

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.held_out import HeldOut
from bnnbench.datasets.official.uci import Uci
from bnnbench.engine.declare.case import Case, cases_of
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.sgd import Sgd

ADAMW = {
    f"AdamW lr={rate:g} wd={decay:g}": AdamW(rate, decay, epochs=40, batch_size=32)
    for rate in (1e-2, 3e-2)
    for decay in (1e-2, 1e-1)
}

NETWORK = mlp([50], outputs=1)


SGD = {
    f"SGD lr={rate:g} wd={decay:g}": Sgd(rate, weight_decay=decay, epochs=40, batch_size=32)
    for rate in (1e-2, 3e-2, 1e-1)
    for decay in (5e-5, 5e-4)
}
MC_DROPOUT = {
    f"MC dropout rate={dropped:g} lr={rate:g}": McDropout(
        dropped, draws=32, training=AdamW(rate, epochs=40, batch_size=32), where="every"
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
