"""Facts about custom networks, for records."""

from collections.abc import Mapping
from functools import lru_cache

from bnnbench.methods.networks.architectures import Architecture, TorchModule, modules_in
from bnnbench.methods.networks.modules.building import KEPT, parts
from bnnbench.methods.networks.modules.trials import trial_of
from bnnbench.methods.networks.own_network import as_data
from bnnbench.methods.networks.shapes import Shape, walk
from bnnbench.methods.source_code import Class, digest_of, is_installed, is_ours, packages_behind


def identities(architecture: Architecture) -> tuple[Mapping[str, object], ...]:
    """Return the identity of each module: class, parameters, structure, source code.

    An installed package's code is not included; its version is in the record's provenance.
    """
    return tuple(map(_identity, modules_in(architecture)))


def computing(architecture: Architecture, input_shape: Shape) -> list[str]:
    """Return how several members of each module are computed."""
    return [
        _computed(placed.layer, placed.input_shape)
        for placed in walk(architecture, input_shape)
        if isinstance(placed.layer, TorchModule)
    ]


def packages(architecture: Architecture) -> dict[str, str]:
    """Return distribution → version of the packages that the modules come from."""
    packages: dict[str, str] = {}
    for layer in modules_in(architecture):
        packages |= packages_behind(layer.source_module)
    return packages


@lru_cache(KEPT)
def _identity(layer: TorchModule) -> Mapping[str, object]:
    facts = parts(layer)
    source = layer.source_module
    own = not is_installed(source) and not is_ours(source)
    factory = Class(source, str(layer.factory).partition(":")[2])
    return {
        **as_data(facts.description),
        "frozen": facts.frozen,
        **({"source_sha256": digest_of(factory)} if own else {}),
    }


def _computed(layer: TorchModule, input_shape: Shape) -> str:
    if not layer.stacked:
        return "one by one"
    reason = trial_of(layer, input_shape).alone
    return f"one by one: {reason}" if reason else "together, by torch.vmap"
