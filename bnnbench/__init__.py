"""Compare Bayesian inference methods for neural networks.

Everything is imported as `bnnbench.methods`, `bnnbench.datasets` and so on. An installed wheel
has these folders here; in a checkout they are at the top level, next to this one.

Results of any origin are read as pandas tables:

    scores = bnnbench.results("results/uci")  # one score per row
    scores.groupby(["dataset", "method", "metric"])["value"].mean()
    bnnbench.costs("results/uci")  # one run per row
    bnnbench.predictions("results/uci", datasets=["boston"])  # one test row of a run per row

Predictions of any origin are scored as arrays:

    bnnbench.score({"means": means, "variances": variances}, targets)

A posterior becomes a folder that any process can load:

    bnnbench.save(posterior, "boston")
    bnnbench.load("boston").predict(inputs, rng)

The runs of a suite are a function call, in a script or a notebook:

    bnnbench.run("uci", methods=["adamw", "ivon"], datasets=["boston"], folds=5)

Every method is an estimator of scikit-learn:

    bnnbench.BnnRegressor("ivon", epochs=50).fit(X, y).predict(X, return_std=True)
"""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bnnbench.commands.running.function import run
    from bnnbench.engine.external.scoring import score
    from bnnbench.estimators.classifier import BnnClassifier
    from bnnbench.estimators.regressor import BnnRegressor
    from bnnbench.methods.saved.files import load, save
    from bnnbench.reports.read.frames import costs, results
    from bnnbench.reports.read.predictions.frame import predictions

__all__ = [
    "BnnClassifier",
    "BnnRegressor",
    "costs",
    "load",
    "predictions",
    "results",
    "run",
    "save",
    "score",
]

_HERE = Path(__file__).resolve().parent

if not (_HERE / "methods").is_dir():
    __path__.append(str(_HERE.parent))

_FUNCTIONS: Mapping[str, str] = {
    "BnnClassifier": "bnnbench.estimators.classifier",
    "BnnRegressor": "bnnbench.estimators.regressor",
    "costs": "bnnbench.reports.read.frames",
    "load": "bnnbench.methods.saved.files",
    "predictions": "bnnbench.reports.read.predictions.frame",
    "results": "bnnbench.reports.read.frames",
    "run": "bnnbench.commands.running.function",
    "save": "bnnbench.methods.saved.files",
    "score": "bnnbench.engine.external.scoring",
}
"""Function → its module, imported on first use, so that importing `bnnbench` itself is fast."""


def __getattr__(name: str) -> Any:
    if name not in _FUNCTIONS:
        raise AttributeError(f"module 'bnnbench' has no attribute {name!r}")
    return getattr(importlib.import_module(_FUNCTIONS[name]), name)
