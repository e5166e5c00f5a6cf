"""Profile wide: networks of realistic width, whose posterior is known from long chains of HMC.

Cases and truth are those of the suite truth. Message passing has its own prior, so that a distance
includes the difference between both priors: variances are scaled from a tenth of the published
ones to three times them. The certified prior has variances of 0.14 (first layer of yacht) and 0.02
(second layer of 50 units), the published one of 0.25 and 0.06.
"""

from dataclasses import replace

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.approximation_levels.restarts import Restarts
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.message_passing.informed import InformedPrior
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.priors import SpectralPrior
from bnnbench.methods.message_passing.schedule import Coupled
from bnnbench.suites.message_ladder.approximation_levels import QUICK
from bnnbench.suites.truth.posteriors import CASES, SHORT
from bnnbench.suites.truth.posteriors import QUICK as TRUTH

# As in suites.uci, but with known noise, which is searched there.
MP = MessagePassing(iterations=(50,), batch_size=1024, schedule=Coupled(64))
MEANS = AdamW(learning_rate=1e-2, weight_decay=1e-1, epochs=40, batch_size=32)
INFORMED = replace(MP, prior=InformedPrior(MEANS, scale=0.3))

WIDE = replace(
    TRUTH,
    name=QUICK.name,
    title="Message passing against certified posteriors: priors, informed means and mixtures",
    profile="wide",
    cases=(CASES["yacht-relu50"], CASES["boston-relu50"], CASES["yacht-relu10"]),
    methods={
        "HMC short": SHORT,
        "MP": MP,
        "MP variances x3": replace(MP, prior=SpectralPrior(scale=3.0)),
        "MP variances x0.3": replace(MP, prior=SpectralPrior(scale=0.3)),
        "MP variances x0.1": replace(MP, prior=SpectralPrior(scale=0.1)),
        "MP informed x0.3": INFORMED,
        "MP informed x1": replace(MP, prior=InformedPrior(MEANS, scale=1.0)),
        "MP 3 restarts": Ensemble(3, MP),
        "MP informed 3 restarts": Ensemble(3, INFORMED),
        "MP 3 restarts (80 % of rows)": Restarts("equal", 3, member=MP),
        "MP 3 restarts (held-out weights)": Restarts("held_out", 3, member=MP),
        "MP informed 3 restarts (80 % of rows)": Restarts("equal", 3, member=INFORMED),
        "MP informed 3 restarts (held-out weights)": Restarts("held_out", 3, member=INFORMED),
    },
    seeds=3,
)
