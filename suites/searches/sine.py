"""Search for the settings of the noisy sines in suites.toy, on held-out training rows."""

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.held_out import HeldOut
from bnnbench.datasets.generated.curves import Sine, SineFar
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.networks.catalogue import LEAKY, mlp
from bnnbench.methods.sgd import Sgd

ADAMW = {
    f"AdamW lr={rate:g} epochs={epochs}": AdamW(rate, epochs=epochs, batch_size=32)
    for rate in (3e-3, 1e-2, 3e-2)
    for epochs in (500, 1000)
}
SGD = {
    f"SGD lr={rate:g}": Sgd(rate, weight_decay=5e-5, epochs=1000, batch_size=32)
    for rate in (0.03, 0.1, 0.3)
}
MC_DROPOUT = {
    f"MC dropout rate={dropped:g} lr={rate:g}": McDropout(
        dropped, draws=32, training=AdamW(rate, epochs=1000, batch_size=32), where="every"
    )
    for dropped in (0.002, 0.005, 0.01)
    for rate in (3e-3, 1e-2)
}
MFVI = {
    f"MFVI lr={rate:g} prior={prior:g}": Mfvi(rate, prior, epochs=1000, batch_size=32)
    for rate in (1e-2, 3e-2)
    for prior in (0.5, 1.0, 2.0)
}
IVON = {
    f"IVON lr={rate:g} h0={start:g} beta2={beta2:g}": Ivon(
        rate, start, beta2=beta2, epochs=1000, batch_size=32, draws=32
    )
    for rate in (0.01, 0.03, 0.1)
    for start in (30.0, 300.0, 3000.0)
    for beta2 in (0.999, 0.9999)
}

SEARCH = Suite(
    name="sine_search",
    title="Held-out scores of candidate settings for the noisy sines of the toy suite",
    profile="quick",
    cases=(
        Case(HeldOut(Sine()), mlp([16] * 2, 1, LEAKY), "sine-3", "sine, 3 linear layers"),
        Case(HeldOut(Sine()), mlp([16] * 4, 1, LEAKY), "sine-5", "sine, 5 linear layers"),
        Case(HeldOut(SineFar()), mlp([32, 32], 1, LEAKY)),
    ),
    methods=ADAMW | SGD | MC_DROPOUT | MFVI | IVON,
    evaluations=(Evaluation(Clean(), ("log_likelihood", "rmse")),),
    folds=2,
    seeds=2,
)

SUITES = {"quick": SEARCH}
