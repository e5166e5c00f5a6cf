"""Bayesian inference methods for neural networks, compared side by side.

Everything is imported as `bnnbench.methods`, `bnnbench.datasets` and so on. An installed wheel
has these folders here; in a checkout they lie beside this one, at the top.
"""

from pathlib import Path

_HERE = Path(__file__).resolve().parent

if not (_HERE / "methods").is_dir():
    __path__.append(str(_HERE.parent))
