"""Architectures with a method's norms and dropout."""

from dataclasses import replace

from bnnbench.methods.base import Unsupported
from bnnbench.methods.networks.architectures import (
    AnalyticNorm,
    Architecture,
    BatchNorm,
    Conv2d,
    Dropout,
    FeatureResponseNorm,
    Layer,
    LeakyReLU,
    Linear,
    LogisticBernoulli,
    ReLU,
    Residual,
    Sigmoid,
    Swish,
    Tanh,
)

ACTIVATIONS = (ReLU, LeakyReLU, Swish, Tanh, Sigmoid, LogisticBernoulli)
NORMS = (BatchNorm, FeatureResponseNorm, AnalyticNorm)


def with_dropout(architecture: Architecture, rate: float) -> Architecture:
    """Return the network with dropout after every activation."""
    if contains(architecture, Dropout):
        raise Unsupported("needed a network without Dropout, or dropout=0; got both dropouts")
    return _with_layer_after(architecture, ACTIVATIONS, Dropout(rate))


def with_analytic_norms(architecture: Architecture) -> Architecture:
    """Return the network with an AnalyticNorm after all weights, instead of their bias."""
    if contains(architecture, *NORMS):
        raise Unsupported('needed a network without norms, or norm="none"; got both norms')
    return _with_layer_after(architecture, (Linear, Conv2d), AnalyticNorm())


def contains(architecture: Architecture, *kinds: type[Layer]) -> bool:
    """Return whether a layer of one of these kinds occurs, also inside branches."""
    return any(
        isinstance(layer, kinds)
        or (isinstance(layer, Residual) and contains(layer.body + layer.shortcut, *kinds))
        for layer in architecture
    )


def _with_layer_after(
    architecture: Architecture, kinds: tuple[type[Layer], ...], addition: Layer
) -> Architecture:
    """Return the network with another layer after each of these kinds, also inside branches."""
    layers: list[Layer] = []
    for layer in architecture:
        if isinstance(layer, Residual):
            branches = (layer.body, layer.shortcut)
            layer = Residual(*(_with_layer_after(branch, kinds, addition) for branch in branches))
        if isinstance(layer, Linear | Conv2d) and isinstance(addition, AnalyticNorm):
            layer = replace(layer, bias=False)
        layers += (layer, addition) if isinstance(layer, kinds) else (layer,)
    return tuple(layers)
