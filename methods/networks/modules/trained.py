"""Trained networks as starts: from state dictionaries, files, and modules with files."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.networks.architectures import (
    Architecture,
    MeanAndLogVariance,
    TorchModule,
    modules_in,
)
from bnnbench.methods.networks.modules.building import built, parts
from bnnbench.methods.networks.modules.state import Expected, compared, loaded_state
from bnnbench.methods.networks.shapes import (
    ParameterSlice,
    Shape,
    parameter_slices,
    running_slices,
    walk,
)
from bnnbench.methods.networks.start import Start

RUNNING = {"running_variance": "running_var"}
"""Name of a running statistic here → its name in torch."""
COUNTER = "num_batches_tracked"
"""Last part of the name of a buffer that most networks do not use."""


class _Fixed(NamedTuple):
    """A tensor of a module that is neither trained nor moves."""

    name: str
    value: Tensor
    frozen: bool
    """True if a start must agree with it; False for counters and other whole numbers."""


def start_of(
    architecture: Architecture,
    input_shape: Shape,
    state: Mapping[str, Tensor],
    origin: str = "the state dictionary",
) -> Start:
    """Return the start at the values of a state dictionary.

    Names are a module's own if it is the whole network, otherwise paths such as "7.weight", as in
    an `nn.Sequential` of the layers. Raises ValueError, which names `origin` and all tensors that
    are missing, unknown, of another shape or type, or frozen at other values.
    """
    weights = parameter_slices(architecture, input_shape)
    buffers = running_slices(architecture, input_shape)
    names = {part.path: _name(part, architecture) for part in (*weights, *buffers)}
    fixed = [*_fixed(architecture, input_shape)]
    expected = {names[p.path]: Expected(p.shape, torch.float32) for p in weights}
    expected |= {names[p.path]: Expected(p.shape, torch.float32) for p in buffers}
    expected |= {one.name: Expected.of(one.value) for one in fixed}
    optional = {name for name in [*state, *expected] if name.rpartition(".")[2] == COUNTER}
    compared(state, expected, origin, "the network", optional)
    if other := [f.name for f in fixed if f.frozen and not torch.equal(f.value, state[f.name])]:
        raise ValueError(f"{origin} has other values of what is frozen: {', '.join(other)}")
    return Start(
        _flat([state[names[part.path]] for part in weights]),
        _flat([state[names[part.path]] for part in buffers]),
    )


def start_of_file(architecture: Architecture, input_shape: Shape, file: str) -> Start:
    """Return the start at the values of a file (`loaded_state`)."""
    kinds = [type(m) for one in modules_in(architecture) for m in built(one, 0).modules()]
    return start_of(architecture, input_shape, loaded_state(file, kinds), file)


def start_in(architecture: Architecture, input_shape: Shape) -> Start | None:
    """Return the start in the files of an architecture's modules; None unless they give it all."""
    weights = parameter_slices(architecture, input_shape)
    if not weights or not all(_is_given(part) for part in weights):
        return None
    by_step: dict[str, Mapping[str, Tensor]] = {}

    def value(part: ParameterSlice) -> Tensor:
        assert isinstance(part.layer, TorchModule)
        if part.step not in by_step:
            by_step[part.step] = built(part.layer, 0).state_dict()
        return by_step[part.step][part.name_in_step]

    buffers = running_slices(architecture, input_shape)
    return Start(_flat([*map(value, weights)]), _flat([*map(value, buffers)]))


def is_whole_module(architecture: Architecture) -> bool:
    """Return whether one module has all of the network's tensors."""
    first, *others = architecture
    without = all(isinstance(layer, MeanAndLogVariance) for layer in others)
    return isinstance(first, TorchModule) and without


def _is_given(part: ParameterSlice) -> bool:
    layer = part.layer
    return isinstance(layer, TorchModule) and bool(layer.weights) and not layer.fresh


def _fixed(architecture: Architecture, input_shape: Shape) -> Iterator[_Fixed]:
    for placed in walk(architecture, input_shape):
        if not isinstance(placed.layer, TorchModule):
            continue
        facts = parts(placed.layer)
        prefix = "" if is_whole_module(architecture) else f"{placed.path}."
        for name, value in built(placed.layer, 0).state_dict().items():
            if name not in facts.trained and name not in facts.moving:
                frozen = value.is_floating_point() and name not in facts.aliases
                yield _Fixed(f"{prefix}{name}", value, frozen)


def _name(part: ParameterSlice, architecture: Architecture) -> str:
    if part.module and is_whole_module(architecture):
        return part.name_in_step
    owner, _, name = part.path.rpartition(".")
    return f"{owner}.{RUNNING.get(name, name)}"


def _flat(tensors: list[Tensor]) -> Float[Tensor, " numbers"]:
    return torch.cat([torch.zeros(0), *(tensor.detach().float().flatten() for tensor in tensors)])
