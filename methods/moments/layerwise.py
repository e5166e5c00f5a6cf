"""A network's outputs layer by layer, for any kind of input, and names for the layers."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from torch import Tensor

from bnnbench.methods.base import Unsupported
from bnnbench.methods.networks.architectures import (
    AnalyticNorm,
    Architecture,
    AvgPool2d,
    BatchNorm,
    Conv2d,
    Dropout,
    FeatureResponseNorm,
    Flatten,
    GaussianNoise,
    GlobalAvgPool2d,
    Layer,
    Linear,
    MaxPool2d,
    Residual,
)
from bnnbench.methods.networks.passes import Rule
from bnnbench.methods.networks.shapes import Shape
from bnnbench.methods.networks.torch_layers import RULES
from bnnbench.methods.networks.torch_network import TorchNetwork

WEIGHTED = (Conv2d, Linear)
POOLING = (MaxPool2d, AvgPool2d, GlobalAvgPool2d)
JOINED = (BatchNorm, AnalyticNorm, FeatureResponseNorm, Dropout)
"""Layers that belong to the layer before them."""
SILENT = (Flatten, GaussianNoise)
"""Layers without a name."""


class Layerwise:
    """A network as a function that returns the output of every layer, in order.

    `reduced` is applied to each output. Raises `Unsupported` for a network with branches.
    """

    def __init__(
        self,
        architecture: Architecture,
        input_shape: Shape,
        rules: Mapping[type[Layer], Rule] | None = None,
        reduced: Callable[[Any], Any] = lambda output: output,
    ) -> None:
        if any(isinstance(layer, Residual) for layer in architecture):
            raise Unsupported("needed a chain of layers, without branches; got a Residual")
        self._reduced = reduced
        self._seen: list[Any] = []
        tapped = {kind: self._tapped(rule) for kind, rule in (RULES | dict(rules or {})).items()}
        self._network = TorchNetwork(architecture, input_shape, tapped)

    def __call__(self, weights: Tensor, inputs: Any, **options: Any) -> list[Any]:
        """Return every layer's output after `reduced`; arguments are as for `TorchNetwork`."""
        self._seen = []
        self._network(weights, inputs, **options)
        return self._seen

    def _tapped(self, rule: Rule) -> Rule:
        def seen(*arguments: Any) -> Any:
            output = rule(*arguments)
            self._seen.append(self._reduced(output))
            return output

        return seen


class LayerName(NamedTuple):
    """A layer's number, from 1, and letters for its operations."""

    number: int
    kind: str


def layer_names(architecture: Architecture, merge_first: bool = False) -> dict[LayerName, int]:
    """Return names such as (3, "A"), each with the index of the last layer it covers.

    C is a layer with weights, F the last of them if no pooling follows, A an activation, P
    pooling. Norms and dropout belong to the layer before them. `merge_first` merges the first C
    and its activation into CA. Source: paper 001, tables 2 to 4.
    """
    kinds: list[tuple[str, int]] = []
    for index, layer in enumerate(architecture):
        if isinstance(layer, SILENT):
            continue
        if isinstance(layer, JOINED) and kinds:
            kinds[-1] = (kinds[-1][0], index)
        elif not isinstance(layer, JOINED):
            weighted, pooling = isinstance(layer, WEIGHTED), isinstance(layer, POOLING)
            kinds.append(("C" if weighted else "P" if pooling else "A", index))
    if kinds and kinds[-1][0] == "C":
        kinds[-1] = ("F", kinds[-1][1])
    if merge_first and [kind for kind, _ in kinds[:2]] == ["C", "A"]:
        kinds[:2] = [("CA", kinds[1][1])]
    return {LayerName(number, kind): index for number, (kind, index) in enumerate(kinds, 1)}
