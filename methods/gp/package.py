"""Imports that need gpytorch, deferred until a fit needs them."""

import importlib
import importlib.util
import warnings
from types import ModuleType

from bnnbench.methods.base import PackageMissing

CURE = "pip install bnnbench[gp]"


def lacking(method: object) -> str:
    """Return the installation that a method lacks, "" if nothing is missing."""
    return "" if importlib.util.find_spec("gpytorch") else f"needs gpytorch: {CURE}"


def import_gpytorch() -> ModuleType:
    """Return gpytorch; raises `PackageMissing` if it is not installed."""
    try:
        with warnings.catch_warnings():
            # Its compiled helpers use torch.jit, which is deprecated.
            warnings.simplefilter("ignore", DeprecationWarning)
            return importlib.import_module("gpytorch")
    except ImportError as missing:
        raise PackageMissing(f"needed gpytorch for Gaussian processes: {CURE}") from missing
