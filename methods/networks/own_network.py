"""A method-supplied network, used instead of the architecture of its problem.

The posterior has it as its attribute `own_network`: a torch module, or a `NetworkDescription` of a
network that torch does not know. The record then names the network, and tables distinguish the
method's scores from those of methods that share an architecture.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True)
class NetworkDescription:
    """The description of a network in records."""

    name: str
    """Name of its class, or another name that identifies it."""
    parameters: int
    """Number of learned parameters."""
    structure: str
    """Layers and shapes in any notation; equal texts mean equal structures."""

    def __post_init__(self) -> None:
        if not self.name or self.parameters < 0:
            raise ValueError(
                "needed a network's name and its number of parameters, 0 or more; "
                f"got {self.name!r} and {self.parameters}"
            )


def described(network: nn.Module) -> NetworkDescription:
    """Return the description of a torch module.

    Its structure is the printed tree of its layers, with name, shape and type of every parameter
    and buffer; their use in `forward` is covered by the digest of the code.
    """
    network_type = type(network)
    tensors = [*network.named_parameters(), *network.named_buffers()]
    lines = [f"{name} {tuple(tensor.shape)} {tensor.dtype}" for name, tensor in tensors]
    learned = sum(tensor.numel() for tensor in network.parameters())
    structure = "\n".join([repr(network), *lines])
    return NetworkDescription(
        f"{network_type.__module__}:{network_type.__qualname__}", learned, structure
    )


def own_network(posterior: object) -> Mapping[str, object] | None:
    """Return class, parameter count and digest of a posterior's own network, if any.

    Raises TypeError if `own_network` is neither a network nor None.
    """
    network = getattr(posterior, "own_network", None)
    if network is None:
        return None
    if isinstance(network, nn.Module):
        network = described(network)
    if not isinstance(network, NetworkDescription):
        raise TypeError(
            "needed a torch module, a NetworkDescription or None as own_network of "
            f"{type(posterior).__name__}; got {type(network).__name__}"
        )
    return as_data(network)


def as_data(network: NetworkDescription) -> Mapping[str, object]:
    """Return class, parameter count and digest of the structure."""
    return {
        "class": network.name,
        "parameters": network.parameters,
        "structure_sha256": hashlib.sha256(network.structure.encode()).hexdigest(),
    }
