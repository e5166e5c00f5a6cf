"""What a description may not say although each of its values is of the right kind."""

from typing import Any

from bnnbench.methods.fitting.network_posterior import NetworkPosterior
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
    if network.parameter_count > numbers:
        raise NotLoaded(
            f"its network has {network.parameter_count:,} parameters, but its arrays have only "
            f"{numbers:,} numbers"
        )


def require_shapes(title: str, value: Any) -> None:
    """Raise `NotLoaded` if weights do not fit their network."""
    if not isinstance(value, NetworkPosterior):
        return
    needed = value.network.parameter_count, value.network.buffer_count
    got = value.weights.shape[1], value.buffers.shape[1]
    if got != needed:
        raise NotLoaded(f"{title} needs {needed} weights and buffers; got {got}")
