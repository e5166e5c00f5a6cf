"""The vocabulary of networks as data, and its form in JSON.

An architecture is a tuple of layers in the order of data flow. Layers state only output widths;
input widths follow from the shape of the data, `(features,)` or `(channels, height, width)`.
Readers are separate: `shapes.py` counts, `torch_network.py` makes a function of weights, others
make a factor graph or propagate moments. A layer may also be a custom network, an `nn.Module`
(`TorchModule`).
"""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from bnnbench.methods.networks.torch_module import TorchModule

SMALLEST, LARGEST = math.ulp(0.0), sys.float_info.max


@dataclass(frozen=True)
class Linear:
    """A dense map of a vector to `outputs` units; an image must be flattened first."""

    outputs: int
    bias: bool = True

    def __post_init__(self) -> None:
        _require_count(self, "outputs")
        _require_flag(self, "bias")


@dataclass(frozen=True)
class Conv2d:
    """A square cross-correlation.

    `padding` is one number for all four borders, or a pair (before, after) used on both axes.
    "symmetric" padding mirrors the image at its border, repeating the border pixel.
    """

    channels: int
    kernel: int
    stride: int = 1
    padding: int | tuple[int, int] = 0
    bias: bool = True
    padding_mode: Literal["zeros", "symmetric"] = "zeros"

    def __post_init__(self) -> None:
        for name in ("channels", "kernel", "stride"):
            _require_count(self, name)
        _require_flag(self, "bias")
        if isinstance(self.padding, tuple) and self.padding == self.padding[:1] * 2:
            object.__setattr__(self, "padding", self.padding[0])  # one spelling, one hash
        pair = self.padding if isinstance(self.padding, tuple) else (self.padding,) * 2
        _require(
            len(pair) == 2 and all(_is_integer(side) and side >= 0 for side in pair),
            self,
            "padding to be an integer >= 0 or a pair of them",
            self.padding,
        )
        _require(
            self.padding_mode in ("zeros", "symmetric"),
            self,
            'padding_mode "zeros" or "symmetric"',
            self.padding_mode,
        )

    @property
    def borders(self) -> tuple[int, int]:
        """The padding before and after, on both axes."""
        return self.padding if isinstance(self.padding, tuple) else (self.padding, self.padding)


@dataclass(frozen=True)
class ReLU:
    """max(x, 0)."""


@dataclass(frozen=True)
class LeakyReLU:
    """x where x > 0, otherwise `slope` x."""

    slope: float

    def __post_init__(self) -> None:
        _require_real(self, "slope", "to be finite", -LARGEST, math.inf)


@dataclass(frozen=True)
class Swish:
    """x sigmoid(x)."""


@dataclass(frozen=True)
class Tanh:
    """tanh(x)."""


@dataclass(frozen=True)
class Sigmoid:
    """1 / (1 + exp(-x))."""


@dataclass(frozen=True)
class NormalCdf:
    """The distribution function of the standard normal distribution."""


@dataclass(frozen=True)
class LogisticBernoulli:
    """1 with probability sigmoid(x), otherwise 0."""


@dataclass(frozen=True)
class MaxPool2d:
    """The maximum of each square of side `size`; a ragged border is dropped."""

    size: int

    def __post_init__(self) -> None:
        _require_count(self, "size")


@dataclass(frozen=True)
class AvgPool2d:
    """The mean of each square of side `size`; a ragged border is dropped."""

    size: int

    def __post_init__(self) -> None:
        _require_count(self, "size")


@dataclass(frozen=True)
class GlobalAvgPool2d:
    """The mean of each channel over all positions."""


@dataclass(frozen=True)
class Flatten:
    """An image as a vector; the channel index varies slowest."""


@dataclass(frozen=True)
class Dropout:
    """Zero with probability `rate`, otherwise x / (1 - rate)."""

    rate: float

    def __post_init__(self) -> None:
        _require_real(self, "rate", "in [0, 1)", 0.0, 1.0)


@dataclass(frozen=True)
class GaussianNoise:
    """x plus independent normal noise; as the first layer, it models inexact inputs."""

    variance: float

    def __post_init__(self) -> None:
        _require_real(self, "variance", "to be finite and not negative", 0.0, math.inf)


@dataclass(frozen=True)
class BatchNorm:
    """Standardisation per channel over batch and positions, then scale and offset.

    Source: Ioffe and Szegedy (2015). Each batch moves running statistics by `momentum`. In
    training, a channel needs two values: a last batch of one row joins the batch before it.
    """

    momentum: float = 0.1
    epsilon: float = 1e-5

    def __post_init__(self) -> None:
        _require_real(self, "momentum", "in (0, 1]", SMALLEST, math.nextafter(1.0, 2.0))
        _require_real(self, "epsilon", "to be positive and finite", SMALLEST, math.inf)


@dataclass(frozen=True)
class FeatureResponseNorm:
    r"""max(γ x / √(ν² + ε) + β, τ) per channel, with ν² the mean of x² over one image's positions.

    Source: Singh and Krishnan (2020), "Filter Response Normalization Layer".
    """

    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        _require_real(self, "epsilon", "to be positive and finite", SMALLEST, math.inf)


@dataclass(frozen=True)
class AnalyticNorm:
    """Normalisation as a function of the weights, by moment propagation."""

    epsilon: float = 1e-5

    def __post_init__(self) -> None:
        _require_real(self, "epsilon", "to be positive and finite", SMALLEST, math.inf)


@dataclass(frozen=True)
class MeanAndLogVariance:
    """Reads outputs as the means of all targets, then the logs of their variances.

    It is the last layer of a regression's network, and its outputs are means and variances.
    """


@dataclass(frozen=True)
class Residual:
    """body(x) + shortcut(x); an empty branch is the identity."""

    body: "tuple[Layer, ...]"
    shortcut: "tuple[Layer, ...]" = ()

    def __post_init__(self) -> None:
        for branch in (self.body, self.shortcut):
            _require(isinstance(branch, tuple), self, "branches to be tuples of layers", branch)
            for layer in branch:
                _require(type(layer) in VOCABULARY.values(), self, "layers", layer)


Layer = (
    Linear
    | Conv2d
    | ReLU
    | LeakyReLU
    | Swish
    | Tanh
    | Sigmoid
    | NormalCdf
    | LogisticBernoulli
    | MaxPool2d
    | AvgPool2d
    | GlobalAvgPool2d
    | Flatten
    | Dropout
    | GaussianNoise
    | BatchNorm
    | FeatureResponseNorm
    | AnalyticNorm
    | MeanAndLogVariance
    | Residual
    | TorchModule
)
Architecture = tuple[Layer, ...]

VOCABULARY: dict[str, type[Layer]] = {layer.__name__: layer for layer in Layer.__args__}


def to_json(architecture: Architecture) -> list[dict[str, Any]]:
    """Return plain lists, dictionaries, strings and numbers that `from_json` reads back."""
    return [
        {"layer": type(layer).__name__}
        | {field.name: _plain(getattr(layer, field.name)) for field in fields(layer)}
        for layer in architecture
    ]


def from_json(description: Sequence[Mapping[str, Any]]) -> Architecture:
    """Return the architecture that `to_json` described; raises ValueError for any other data."""
    return tuple(_layer(entry) for entry in description)


def modules_in(architecture: Architecture) -> Iterator[TorchModule]:
    """Yield the modules of an architecture, including those in branches."""
    for layer in architecture:
        if isinstance(layer, TorchModule):
            yield layer
        elif isinstance(layer, Residual):
            yield from modules_in(layer.body + layer.shortcut)


def _plain(value: object) -> object:
    if isinstance(value, tuple) and value and type(value[0]) in VOCABULARY.values():
        return to_json(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _layer(entry: Mapping[str, Any]) -> Layer:
    settings = dict(entry)
    name = settings.pop("layer", None)
    if name not in VOCABULARY:
        raise ValueError(f"needed a layer out of {', '.join(VOCABULARY)}; got {name!r}")
    for branch in ("body", "shortcut"):
        if branch in settings:
            settings[branch] = from_json(settings[branch])
    settings = {name: _tuples(value) for name, value in settings.items()}
    field_names = {field.name for field in fields(VOCABULARY[name])}
    if unknown := settings.keys() - field_names:
        raise ValueError(f"{name} has no field {', '.join(sorted(unknown))}")
    try:
        return VOCABULARY[name](**settings)
    except TypeError as error:
        raise ValueError(f"cannot make {name} from {settings}: {error}") from error


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _require(holds: bool, layer: object, needed: str, given: object) -> None:
    if not holds:
        raise ValueError(f"{type(layer).__name__} needs {needed}; got {given!r}")


def _require_count(layer: object, name: str) -> None:
    value = getattr(layer, name)
    _require(_is_integer(value) and value > 0, layer, f"{name} to be a positive integer", value)


def _require_flag(layer: object, name: str) -> None:
    value = getattr(layer, name)
    _require(isinstance(value, bool), layer, f"{name} to be True or False", value)


def _require_real(layer: object, name: str, needed: str, low: float, high: float) -> None:
    """Check low <= value < high, and store the value as a float: one spelling, one hash."""
    value = getattr(layer, name)
    real = isinstance(value, int | float) and not isinstance(value, bool)
    _require(real and low <= value < high, layer, f"{name} {needed}", value)
    object.__setattr__(layer, name, float(value))
