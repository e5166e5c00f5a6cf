"""Bayesian inference methods for neural networks, compared side by side.

Everything is imported as `bnnbench.methods`, `bnnbench.datasets` and so on. An installed wheel
has these folders here; in a checkout they lie beside this one, at the top.

Results are read as tables of pandas, whatever made them:

    scores = bnnbench.results("results/uci")  # one score a row
    scores.groupby(["dataset", "method", "metric"])["value"].mean()
    bnnbench.costs("results/uci")  # one run a row

Predictions made anywhere are scored as arrays:

    bnnbench.score({"means": means, "variances": variances}, targets)
"""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bnnbench.engine.external.scoring import score
    from bnnbench.reports.read.frames import costs, results

__all__ = ["costs", "results", "score"]

_HERE = Path(__file__).resolve().parent

if not (_HERE / "methods").is_dir():
    __path__.append(str(_HERE.parent))

_FUNCTIONS: Mapping[str, str] = {
    "costs": "bnnbench.reports.read.frames",
    "results": "bnnbench.reports.read.frames",
    "score": "bnnbench.engine.external.scoring",
}
"""Function → its module, imported on use: importing `bnnbench` itself takes no time."""


def __getattr__(name: str) -> Any:
    if name not in _FUNCTIONS:
        raise AttributeError(f"module 'bnnbench' has no attribute {name!r}")
    return getattr(importlib.import_module(_FUNCTIONS[name]), name)
