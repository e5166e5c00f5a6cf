"""Modules made by their factories, and which of their tensors are trained."""

import difflib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm as AnyBatchNorm

from bnnbench.methods.networks.modules.state import Expected, compared, loaded_state
from bnnbench.methods.networks.own_network import NetworkDescription, described
from bnnbench.methods.networks.torch_module import TorchModule
from bnnbench.methods.own_files import imported

KEPT = 16
"""Number of modules whose facts are cached."""


@dataclass(frozen=True)
class Parts:
    """The tensors of a module by name, each with its shape."""

    trained: Mapping[str, tuple[int, ...]]
    """Parameters that are not frozen, in the module's order."""
    moving: Mapping[str, tuple[int, ...]]
    """Buffers that are not frozen, such as the running statistics of batch norms."""
    fan_in: Mapping[str, int]
    """Name of a trained parameter → number of inputs of one unit in its layer."""
    aliases: Mapping[str, str]
    """Other name of a tensor shared by several layers → its first name."""
    still: frozenset[str]
    """Names of the modules that are always in evaluation mode: modules that are frozen as a whole,
    and batch norms with frozen statistics."""
    frozen: int
    """Number of frozen parameter values."""
    description: NetworkDescription


def built(layer: TorchModule, seed: int) -> nn.Module:
    """Return the module as its factory makes it with this seed, with the values of its file.

    The global generator's state is restored. Raises ValueError if the factory or the file does not
    match the layer.
    """
    factory = _factory(layer)
    generator = torch.default_generator
    before = generator.get_state()
    generator.manual_seed(seed)
    try:
        module = factory(**dict(layer.arguments))
    finally:
        generator.set_state(before)
    if not isinstance(module, nn.Module):
        kind = type(module).__name__
        raise ValueError(f"needed a torch.nn.Module of {layer.factory}; got a {kind}")
    if layer.weights:
        _load(layer, module)
    return module


def initial_values(layer: TorchModule, rng: torch.Generator) -> dict[str, Tensor]:
    """Return trained parameters as the module's own constructor draws them, by name."""
    (seed,) = torch.randint(2**62, (1,), generator=rng, device=rng.device).tolist()
    parameters = dict(built(layer, seed).named_parameters())
    return {name: parameters[name].detach() for name in parts(layer).trained}


@lru_cache(KEPT)
def initial_buffers(layer: TorchModule) -> dict[str, Tensor]:
    """Return the initial values of the buffers that are not frozen, by name."""
    buffers = dict(built(layer, 0).named_buffers())
    return {name: buffers[name] for name in parts(layer).moving}


@lru_cache(KEPT)
def parts(layer: TorchModule) -> Parts:
    """Return which tensors of the module are trained, which move, and which are frozen."""
    module = built(layer, 0)
    parameters, buffers = dict(module.named_parameters()), dict(module.named_buffers())
    known = [*parameters, *buffers]
    frozen = set(named(known, layer.frozen, layer))
    trained = {n: tuple(p.shape) for n, p in parameters.items() if n not in frozen}
    counted = {
        f"{path}.num_batches_tracked".lstrip(".")
        for path, part in module.named_modules()
        if isinstance(part, AnyBatchNorm) and part.momentum is None
    }
    moving = {
        name: tuple(buffer.shape)
        for name, buffer in buffers.items()
        if name not in frozen and (buffer.is_floating_point() or name in counted)
    }
    every = [
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ]
    first = {id(tensor): name for name, tensor in [*parameters.items(), *buffers.items()]}
    return Parts(
        trained,
        moving,
        {name: _fan_in(name, parameters) for name in trained},
        {name: first[id(tensor)] for name, tensor in every if name != first[id(tensor)]},
        frozenset(_still(module, frozen)),
        sum(parameters[name].numel() for name in frozen & parameters.keys()),
        described(module),
    )


def named(
    names: Sequence[str], patterns: Sequence[str], layer: TorchModule | None = None
) -> Iterator[str]:
    """Yield the names that the patterns select, in order; the last matching pattern decides.

    If its layer is given, raises ValueError for a pattern without any match.
    """
    for pattern in patterns if layer else ():
        plain = pattern.removeprefix("!")
        if not any(fnmatchcase(name, plain) for name in names):
            near = difflib.get_close_matches(plain, names, 3, 0.0)
            raise ValueError(
                f"no parameter or buffer of {layer.factory if layer else ''} matches the pattern "
                f"{pattern!r}; there are {', '.join(near) or 'none'}, ..."
            )
    for name in names:
        fitting = [p for p in patterns if fnmatchcase(name, p.removeprefix("!"))]
        if fitting and not fitting[-1].startswith("!"):
            yield name


def _factory(layer: TorchModule) -> Callable[..., Any]:
    place, _, name = str(layer.factory).partition(":")
    try:
        factory: Any = imported(place)
        for part in name.split("."):
            factory = getattr(factory, part)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{layer.factory} cannot be imported: {error}") from error
    return factory


def _load(layer: TorchModule, module: nn.Module) -> None:
    """Load the module's values from its file, except those that are to be fresh."""
    given = loaded_state(layer.weights, [type(part) for part in module.modules()])
    state = module.state_dict()
    fresh = set(named([*state], layer.fresh, layer))
    compared(
        given,
        {name: Expected.of(tensor) for name, tensor in state.items()},
        f"the file {layer.weights}",
        str(layer.factory),
        fresh | {name for name in named([*given], layer.fresh)},
        ". Give patterns of what the file lacks, such as fresh=('head.*',), or remove from the "
        "file what the module lacks",
    )
    module.load_state_dict(state | {name: given[name] for name in state if name not in fresh})


def _fan_in(name: str, parameters: Mapping[str, nn.Parameter]) -> int:
    owner = name.rpartition(".")[0]
    weight = parameters.get(f"{owner}.weight".lstrip("."), parameters[name])
    return math.prod(weight.shape[1:])


def _still(module: nn.Module, frozen: set[str]) -> Iterator[str]:
    """Yield the names of the modules that are frozen, and of batch norms with frozen statistics."""
    for path, part in module.named_modules():
        if isinstance(part, AnyBatchNorm) and f"{path}.running_mean".lstrip(".") in frozen:
            yield path
            continue
        tensors = [*part.named_parameters(), *part.named_buffers()]
        names = {f"{path}.{name}".lstrip(".") for name, _ in tensors}
        names -= {name for name in names if name.endswith("num_batches_tracked")}
        if names and names <= frozen:
            yield path
