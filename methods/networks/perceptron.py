"""Reading an architecture as a perceptron: dense layers with one activation between them."""

from dataclasses import dataclass
from math import prod

from bnnbench.methods.base import Unsupported
from bnnbench.methods.networks.architectures import Architecture, Flatten, Layer, Linear


@dataclass(frozen=True)
class Perceptron:
    """Widths from the features to the outputs, and the activation between dense layers."""

    widths: tuple[int, ...]
    activation: Layer | None
    """The activation; None without a hidden layer."""


def as_perceptron(
    architecture: Architecture, input_shape: tuple[int, ...], *activations: type[Layer]
) -> Perceptron:
    """Return the architecture as a perceptron whose activation is one of those allowed.

    A leading Flatten turns an image into a vector. Raises `Unsupported` for any other layer, a
    dense layer without bias, two activations in a row, or different activations.
    """
    layers = architecture[1:] if architecture[:1] == (Flatten(),) else architecture
    flat = len(input_shape) == 1 or len(layers) < len(architecture)
    dense, between = layers[0::2], layers[1::2]
    regular = (
        flat
        and len(layers) % 2 == 1
        and all(isinstance(layer, Linear) and layer.bias for layer in dense)
        and all(isinstance(layer, activations) for layer in between)
        and len(set(between)) <= 1
    )
    if not regular:
        allowed = " or ".join(kind.__name__ for kind in activations)
        raise Unsupported(
            f"needed a perceptron, dense layers with biases and {allowed} between them (for an "
            f"image, Flatten first); got {architecture} for inputs of shape {input_shape}"
        )
    outputs = tuple(layer.outputs for layer in dense if isinstance(layer, Linear))
    return Perceptron((prod(input_shape), *outputs), between[0] if between else None)
