"""Profiles for a table of the user: every method that suits it, tuned by the equal budget."""

from collections.abc import Mapping

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.own.table import OwnTable
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import Method
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.label_smoothing import LabelSmoothing
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.laplace.structures import Full
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.networks.architectures import Architecture
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.sgd import Sgd
from bnnbench.methods.tuning.method import Noise, Tuned
from bnnbench.metrics import CLASSIFICATION, REGRESSION
from bnnbench.suites.engine.declare.case import Case
from bnnbench.suites.engine.declare.grid import Evaluation, Suite
from bnnbench.suites.uci.tuned import TUNED_QUICK

FEW = (
    *("Training mean", "GP", "AdamW", "Ensemble", "Ensemble heteroscedastic", "MC dropout"),
    *("MFVI", "IVON", "SWAG", "PBP"),
)
"""Regression methods of the quick profile, the fastest of each family; `all` has the others."""
ADAMW = AdamW(learning_rate=1e-2, weight_decay=1e-2, epochs=40, batch_size=32)


def suites_of(source: OwnTable) -> dict[str, Suite]:
    """Return the profiles for a table: quick and all for a regression, quick for classes."""
    if source.task == "classification":
        network = mlp([50], outputs=len(source.labels))
        return {"quick": _suite(source, "quick", network, _CLASSIFIERS, CLASSIFICATION)}
    network = mlp([50], outputs=1)
    few = {label: TUNED_QUICK.methods[label] for label in FEW}
    return {
        profile: _suite(source, profile, network, methods, REGRESSION)
        for profile, methods in (("quick", few), ("all", dict(TUNED_QUICK.methods)))
    }


def _suite(
    source: OwnTable,
    profile: str,
    network: Architecture,
    methods: Mapping[str, Method],
    metrics: tuple[str, ...],
) -> Suite:
    kind = "classes" if source.task == "classification" else "numbers"
    return Suite(
        name="own",
        title=f"{source.name}: {kind} of {source.target_column!r} by networks of 50 units",
        profile=profile,
        cases=(Case(source, network),),
        methods=methods,
        evaluations=(Evaluation(Clean(), metrics),),
        fitted_together=5,
        folds=min(5, source.folds),
    )


def _tuned(method: Method, noise: Noise = "held_out") -> Tuned:
    return Tuned(method, 8, updates=3_000, noise=noise)


# "(tempered)": with the temperature that held-out training rows prefer.
_CLASSIFIERS = {
    "Class frequency": Marginal(),
    "AdamW": _tuned(ADAMW, "own"),
    "AdamW (tempered)": _tuned(ADAMW),
    "SGD (tempered)": _tuned(Sgd(learning_rate=1e-2, epochs=40, batch_size=32)),
    "Label smoothing": _tuned(LabelSmoothing(training=ADAMW), "own"),
    "Ensemble": _tuned(Ensemble(5, ADAMW), "own"),
    "Ensemble (tempered)": _tuned(Ensemble(5, ADAMW)),
    "MC dropout": _tuned(McDropout(rate=0.05, draws=100, training=ADAMW), "own"),
    "MFVI": _tuned(Mfvi(learning_rate=1e-2, epochs=40, batch_size=32, draws=100), "own"),
    "IVON": _tuned(Ivon(learning_rate=0.1, epochs=40, batch_size=32, draws=100), "own"),
    "Laplace last layer": _tuned(Laplace(ADAMW, Full("last")), "own"),
}
