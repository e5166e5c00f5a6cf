"""Settings for the classification of tables used by more than one of its profiles."""

from dataclasses import replace

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ciber.method import Ciber
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.function_space.method import FunctionSpace, WeightSpace
from bnnbench.methods.function_space.models import Map
from bnnbench.methods.function_space.radial import Radial
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.label_smoothing import LabelSmoothing
from bnnbench.methods.laplace.kfac import Kfac
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.laplace.structures import Diagonal, Full, Subnetwork
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.schedule import Coupled
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.moment_propagation.method import MomentPropagation
from bnnbench.methods.pbp.method import Pbp
from bnnbench.methods.post_hoc.tempered import Tempered
from bnnbench.methods.sgd import Sgd
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.pca_slices import PcaSlices
from bnnbench.methods.trajectory.pca_vi import PcaVi
from bnnbench.methods.trajectory.schedules import HighThenLow
from bnnbench.methods.trajectory.sgld import Sgld
from bnnbench.methods.trajectory.swa import Swa
from bnnbench.methods.trajectory.swag import Swag
from bnnbench.methods.vsd.method import Vsd

# One setting for all sets: the minimum mean held-out log loss over six sets and three folds in
# suites.searches.uci_classification; suites/searches/uci_classification.csv has all scores.
ADAMW = AdamW(learning_rate=1e-2, weight_decay=1.0, epochs=40, batch_size=32)
SGD = Sgd(learning_rate=1e-2, weight_decay=5e-4, epochs=40, batch_size=32)
IVON = Ivon(learning_rate=0.3, initial_hessian=0.1, epochs=40, batch_size=32, draws=100)
TRAJECTORY = Descent(
    learning_rate=3e-2, weight_decay=3e-2, epochs=100, batch_size=32, schedule=HighThenLow(0.1)
)
LAPLACE = {
    "Laplace diagonal": Laplace(ADAMW, Diagonal(), prior_precisions=(10.0,)),
    "Laplace KFAC": Laplace(ADAMW, Kfac(), prior_precisions=(10.0,)),
    "Laplace subnetwork": Laplace(ADAMW, Subnetwork(300), prior_precisions=(1.0,)),
    # Its prior maximises the evidence.
    "Laplace last layer": Laplace(ADAMW, Full("last")),
    "KFAC": Laplace(ADAMW, Kfac(), prior_precisions=(100.0,), prediction="mc"),
}
# Not searched: PCA+ESS, PCA+VI and CIBER, which use the trajectory of SWAG; VSD, the priors on
# functions, moment propagation, PBP and message passing.
WITHOUT_DECAY = replace(ADAMW, weight_decay=0.0)
METHODS = {
    "Class frequency": Marginal(),
    "AdamW": ADAMW,
    # The best temperature on a fifth of the training rows.
    "AdamW (tempered)": Tempered(ADAMW),
    "SGD": SGD,
    "Label smoothing": LabelSmoothing(share=0.01, training=ADAMW),
    "MC dropout": McDropout(
        rate=0.2,
        draws=100,
        training=AdamW(learning_rate=1e-2, epochs=40, batch_size=32),
        where="every",
    ),
    "Ensemble": Ensemble(size=5, member=ADAMW),
    "Ensemble (tempered)": Tempered(Ensemble(size=5, member=ADAMW)),
    "MFVI": Mfvi(learning_rate=1e-2, prior_std=1.0, epochs=40, batch_size=32, draws=100),
    "VSD": Vsd(initial_variance=0.01, epochs=100, batch_size=32, draws=100),
    "Radial": WeightSpace(Radial(draws=100), training=WITHOUT_DECAY),
    "IVON@mean": replace(IVON, draws=0),
    "IVON": IVON,
    "SWA": Swa(TRAJECTORY),
    "SWAG": Swag(TRAJECTORY),
    "PCA+ESS": PcaSlices(TRAJECTORY),
    "PCA+VI": PcaVi(TRAJECTORY),
    "CIBER (last)": Ciber(TRAJECTORY),
    "SGLD": Sgld(learning_rate=3e-2, temperature=0.1, epochs=100, batch_size=32),
    **LAPLACE,
    "MAP fVI": FunctionSpace(Map(), training=WITHOUT_DECAY),
    "Moment propagation": MomentPropagation(
        learning_rate=1e-2, epochs=40, batch_size=32, dropout=0.05
    ),
    "PBP": Pbp(epochs=40),
    # One batch of up to 1,024 rows, as in suites.uci.
    "MP": MessagePassing(iterations=(50,), batch_size=1024, schedule=Coupled(64)),
}
