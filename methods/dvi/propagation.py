"""Propagation of moments for DVI, and the networks that it covers."""

from collections.abc import Mapping
from typing import Literal

from bnnbench.methods.base import Unsupported
from bnnbench.methods.moments.covariances.covariance import Covariances, covariance_rules
from bnnbench.methods.moments.rules import moment_rules
from bnnbench.methods.networks.architectures import (
    Architecture,
    Flatten,
    Layer,
    LeakyReLU,
    Linear,
    ReLU,
    Tanh,
)
from bnnbench.methods.networks.passes import Rule

Covariance = Literal["full", "diagonal"]
"""All covariances between the units of a layer (DVI), or only variances (dDVI)."""

COVERED = (Linear, ReLU, LeakyReLU, Tanh, Flatten)


def propagation_rules(covariance: Covariance, order: int) -> Mapping[type[Layer], Rule]:
    """Return the rules that propagate moments, with `order` terms for covariances."""
    return covariance_rules(Covariances(order=order)) if covariance == "full" else moment_rules()


def require_covered(architecture: Architecture) -> None:
    """Raise `Unsupported` for a layer without a rule for Gaussian weights or units."""
    for layer in architecture:
        if not isinstance(layer, COVERED):
            names = ", ".join(kind.__name__ for kind in COVERED)
            raise Unsupported(f"needed a dense network of {names} for DVI; got {layer}")
