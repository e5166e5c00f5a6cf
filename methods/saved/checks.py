"""Checks of a description as a whole, each of whose values is of the right kind.

Compiled code follows sizes and shapes without looking at arrays, and a network's size is memory.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from bnnbench.methods.names import FACTORIES
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.saved.errors import NotLoaded


def require_permitted(factory: str, networks: frozenset[str]) -> None:
    """Raise `NotLoaded` for a network of the user's own that the caller did not name."""
    if factory in networks or factory in FACTORIES:
        return
    name = factory.rpartition(":")[2]
    raise NotLoaded(
        f"it needs the network {factory}, whose code is yours and not in the file: load it with "
        f"networks=[{name}] (in a shell: --network FILE.py:{name}), if you trust that code"
    )


def require_weights(network: TorchNetwork, numbers: int) -> None:
    """Raise `NotLoaded` for a network of more parameters than all arrays have numbers."""
    _require(network.parameter_count, numbers, "parameters")


def require_room(name: str, arguments: Mapping[str, Any], numbers: int) -> None:
    """Raise `NotLoaded` if an object needs memory for more numbers than all arrays have."""
    if name in ("scaled_perceptron", "compiled_perceptron"):
        _require(_size(arguments["perceptron"].widths), numbers, "weights")
    if name == "sparse_gp":
        places, outputs = arguments["places"], arguments.get("outputs") or 1
        _require(len(places) ** 2 * outputs, numbers, "covariances")


def require_shapes(name: str, value: Any) -> None:
    """Raise `NotLoaded` if arrays do not fit the network that they belong to."""
    for needed, got in SHAPES[name](value) if name in SHAPES else ():
        if got != needed:
            raise NotLoaded(f"{name} needs arrays of size {needed}; got {got}")


def _require(needed: int, numbers: int, what: str) -> None:
    if needed > numbers:
        raise NotLoaded(f"it has {needed:,} {what}, but its arrays have only {numbers:,} numbers")


def _size(widths: Any) -> int:
    """Return the number of weights and biases of a perceptron."""
    return sum((int(inputs) + 1) * int(outputs) for inputs, outputs in pairwise(widths))


def _of_network(value: Any) -> Any:
    needed = value.network.parameter_count, value.network.buffer_count
    yield needed, (value.weights.shape[1], value.buffers.shape[1])


def _of_pbp(value: Any) -> Any:
    size = value.layout.rows, value.layout.columns
    for array in (value.mean, value.variance, value.factor_precision):
        yield size, tuple(array.shape)


def _of_row_laplace(value: Any) -> Any:
    size = _size(value.widths)
    yield (size, size), (len(value.weights), len(value.precision))


def _of_messages(value: Any) -> Any:
    parts = [part for layer in value.weights for part in layer.parts()]
    network = TorchNetwork(value.architecture, value.input_shape)
    yield [p.size for p in network.parameters], [part.rho.numel() for part in parts]


SHAPES: Mapping[str, Callable[[Any], Any]] = {
    "network_posterior": _of_network,
    "pbp_state": _of_pbp,
    "row_laplace_posterior": _of_row_laplace,
    "message_passing_posterior": _of_messages,
}
"""Name → a function that yields pairs of needed and given sizes."""
