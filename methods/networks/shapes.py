"""Shapes, parameter counts and a plain table of an architecture, without tensors."""

import math
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, NamedTuple

from bnnbench.methods.networks.architectures import (
    AnalyticNorm,
    Architecture,
    AvgPool2d,
    BatchNorm,
    Conv2d,
    FeatureResponseNorm,
    Flatten,
    GlobalAvgPool2d,
    Layer,
    Linear,
    MaxPool2d,
    Residual,
)
from bnnbench.methods.networks.torch_module import TorchModule

if TYPE_CHECKING:
    from bnnbench.methods.networks.modules.building import Parts

Shape = tuple[int, ...]


class Placed(NamedTuple):
    """A layer's position: its path such as "12.body.3", and the shapes around it."""

    path: str
    layer: Layer
    input_shape: Shape
    output_shape: Shape


class ParameterSlice(NamedTuple):
    """The position of one parameter in a flat vector of weights (or of running statistics)."""

    path: str
    """The path, such as "12.body.3.weight"."""
    layer: Layer
    shape: Shape
    offset: int
    fan_in: int
    """The inputs of one unit: channels kernel² for a convolution, 1 for a norm."""
    module: str = ""
    """The path of the TorchModule that it is part of, "" for any other layer."""

    @property
    def owner(self) -> str:
        """The path of the layer, such as "12.body.3"; inside a TorchModule, of the inner layer."""
        return self.path.rpartition(".")[0]

    @property
    def step(self) -> str:
        """The path of the architecture's layer."""
        return self.module or self.owner

    @property
    def name_in_step(self) -> str:
        """The name within the architecture's layer."""
        return self.path[len(self.step) + 1 :]

    @property
    def name(self) -> str:
        """The name within the layer, such as "weight"."""
        return self.path.rpartition(".")[2]

    @property
    def size(self) -> int:
        """The number of weights."""
        return math.prod(self.shape)

    @property
    def stop(self) -> int:
        """The offset after the last weight."""
        return self.offset + self.size


def walk(architecture: Architecture, input_shape: Shape, prefix: str = "") -> Iterator[Placed]:
    """Yield every layer in the order of parameters; a Residual precedes body and shortcut.

    Raises ValueError at the first layer that does not accept its input shape.
    """
    _check_shape(input_shape)
    for index, layer in enumerate(architecture):
        path = f"{prefix}{index}"
        output_shape = _output_shape(path, layer, input_shape)
        yield Placed(path, layer, input_shape, output_shape)
        if isinstance(layer, Residual):
            yield from walk(layer.body, input_shape, f"{path}.body.")
            yield from walk(layer.shortcut, input_shape, f"{path}.shortcut.")
        input_shape = output_shape


def output_shapes(architecture: Architecture, input_shape: Shape) -> tuple[Shape, ...]:
    """Return the shape after each layer of the outer tuple, for one input."""
    inner = walk(architecture, input_shape)
    return tuple(placed.output_shape for placed in inner if placed.path.isdigit())


def output_shape(architecture: Architecture, input_shape: Shape) -> Shape:
    """Return the shape of the network's output, for one input."""
    _check_shape(input_shape)
    return _end(architecture, input_shape, "")


def parameter_shapes(layer: Layer, input_shape: Shape) -> dict[str, Shape]:
    """Return the layer's own parameters by name, in their order in flat weight vectors."""
    width = input_shape[0]
    match layer:
        case Linear(outputs, bias):
            return {"weight": (outputs, width)} | ({"bias": (outputs,)} if bias else {})
        case Conv2d(channels, kernel, bias=bias):
            weight = (channels, width, kernel, kernel)
            return {"weight": weight} | ({"bias": (channels,)} if bias else {})
        case BatchNorm() | AnalyticNorm():
            return {"weight": (width,), "bias": (width,)}
        case FeatureResponseNorm():
            return {"weight": (width,), "bias": (width,), "threshold": (width,)}
        case TorchModule():
            return dict(_parts(layer).trained)
        case _:
            return {}


def running_shapes(layer: Layer, input_shape: Shape) -> dict[str, Shape]:
    """Return the layer's running statistics by name; they are not trained.

    For a TorchModule these are all its buffers that are not frozen.
    """
    if isinstance(layer, TorchModule):
        return dict(_parts(layer).moving)
    if not isinstance(layer, BatchNorm):
        return {}
    return {"running_mean": input_shape[:1], "running_variance": input_shape[:1]}


def parameter_slices(architecture: Architecture, input_shape: Shape) -> tuple[ParameterSlice, ...]:
    """Return the position of each parameter in a flat weight vector.

    Layers are in order of appearance, weight before bias, body before shortcut.
    """
    return _slices(architecture, input_shape, parameter_shapes)


def running_slices(architecture: Architecture, input_shape: Shape) -> tuple[ParameterSlice, ...]:
    """Return the position of each running statistic in a flat vector of them.

    If a layer is an AnalyticNorm, they are followed by the mean and variance of the network's
    inputs per channel, "input.mean" and "input.variance".
    """
    slices = _slices(architecture, input_shape, running_shapes)
    layers = (placed.layer for placed in walk(architecture, input_shape))
    norm = next((layer for layer in layers if isinstance(layer, AnalyticNorm)), None)
    if norm is None:
        return slices
    start, channels = slices[-1].stop if slices else 0, input_shape[:1]
    mean = ParameterSlice("input.mean", norm, channels, start, 1)
    return (*slices, mean, ParameterSlice("input.variance", norm, channels, mean.stop, 1))


def parameter_count(architecture: Architecture, input_shape: Shape) -> int:
    """Return the number of trained parameters, without running statistics."""
    return sum(part.size for part in parameter_slices(architecture, input_shape))


def describe(architecture: Architecture, input_shape: Shape) -> str:
    """Return a plain table of layers, output shapes and parameter counts."""
    rows = [("input", _sides(input_shape), "")]
    for placed in walk(architecture, input_shape):
        count = _own_count(placed)
        name = f"{placed.path} {_text(placed.layer)}"
        rows.append((name, _sides(placed.output_shape), f"{count:,}" if count else ""))
    rows.append(("total", "", f"{parameter_count(architecture, input_shape):,}"))
    left, middle, right = (max(len(row[column]) for row in rows) for column in range(3))
    lines = (f"{name:<{left}}  {shape:<{middle}}  {count:>{right}}" for name, shape, count in rows)
    return "\n".join(line.rstrip() for line in lines)


def _slices(
    architecture: Architecture,
    input_shape: Shape,
    shapes: Callable[[Layer, Shape], dict[str, Shape]],
) -> tuple[ParameterSlice, ...]:
    slices: list[ParameterSlice] = []
    offset = 0
    for path, layer, shape_before, _ in walk(architecture, input_shape):
        weight = parameter_shapes(layer, shape_before).get("weight", ())
        inputs = math.prod(weight[1:])
        module = path if isinstance(layer, TorchModule) else ""
        for name, shape in shapes(layer, shape_before).items():
            fan_in = _parts(layer).fan_in.get(name, 1) if isinstance(layer, TorchModule) else inputs
            slices.append(ParameterSlice(f"{path}.{name}", layer, shape, offset, fan_in, module))
            offset = slices[-1].stop
    return tuple(slices)


def _parts(layer: TorchModule) -> "Parts":
    from bnnbench.methods.networks.modules.building import parts  # needs torch

    return parts(layer)


def _check_shape(shape: Shape) -> None:
    if len(shape) not in (1, 3) or not all(side > 0 for side in shape):
        raise ValueError(
            f"needed an input shape (features,) or (channels, height, width); got {shape}"
        )


def _output_shape(path: str, layer: Layer, shape: Shape) -> Shape:
    if need := _missing(layer, shape):
        raise ValueError(f"{_text(layer)} at {path} needs {need}; got shape {shape}")
    match layer:
        case Linear(outputs):
            return (outputs,)
        case Conv2d(channels, kernel, stride):
            grown = (side + sum(layer.borders) - kernel for side in shape[1:])
            return (channels, *(extra // stride + 1 for extra in grown))
        case MaxPool2d(size) | AvgPool2d(size):
            return (shape[0], *(side // size for side in shape[1:]))
        case GlobalAvgPool2d():
            return shape[:1]
        case Flatten():
            return (math.prod(shape),)
        case TorchModule():
            return layer.output_shape
        case Residual(body, shortcut):
            ends = (
                _end(body, shape, f"{path}.body."),
                _end(shortcut, shape, f"{path}.shortcut."),
            )
            if ends[0] != ends[1]:
                raise ValueError(
                    f"Residual at {path} needs branches of one shape; "
                    f"body gives {ends[0]}, shortcut {ends[1]}"
                )
            return ends[0]
        case _:
            return shape


IMAGE_LAYERS = Conv2d | MaxPool2d | AvgPool2d | GlobalAvgPool2d | Flatten | FeatureResponseNorm


def _missing(layer: Layer, shape: Shape) -> str | None:
    """Return the layer's need that a shape does not meet, or None."""
    if isinstance(layer, Linear) and len(shape) == 3:
        return "a vector: put Flatten or GlobalAvgPool2d before it"
    if isinstance(layer, TorchModule) and layer.inputs not in ((), shape):
        return f"inputs of shape {layer.inputs}"
    if isinstance(layer, IMAGE_LAYERS) and len(shape) != 3:
        return "an image (channels, height, width)"
    smallest = min(shape[1:], default=0)
    match layer:
        case Conv2d(kernel=kernel) if smallest + sum(layer.borders) < kernel:
            return f"sides of at least {kernel} with padding"
        case Conv2d(padding_mode="symmetric") if smallest < max(layer.borders):
            return "sides as long as its symmetric padding"
        case MaxPool2d(size) | AvgPool2d(size) if smallest < size:
            return f"sides of at least {size}"
    return None


def _end(architecture: Architecture, shape: Shape, prefix: str) -> Shape:
    for index, layer in enumerate(architecture):
        shape = _output_shape(f"{prefix}{index}", layer, shape)
    return shape


def _own_count(placed: Placed) -> int:
    shapes = parameter_shapes(placed.layer, placed.input_shape)
    return sum(math.prod(shape) for shape in shapes.values())


def _sides(shape: Shape) -> str:
    return " x ".join(str(side) for side in shape)


def _text(layer: Layer) -> str:
    """Return the layer with the fields that differ from their defaults."""
    if isinstance(layer, Residual):
        return "Residual"
    values = ((field, getattr(layer, field.name)) for field in fields(layer))
    changed_fields = (f"{field.name}={value}" for field, value in values if value != field.default)
    return f"{type(layer).__name__}({', '.join(changed_fields)})"
