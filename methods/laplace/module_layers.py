"""Dense and convolutional layers inside a custom module, as layers of this project."""

from collections.abc import Iterator
from typing import NamedTuple

from torch import nn

from bnnbench.methods.base import Unsupported
from bnnbench.methods.networks.architectures import Conv2d, Linear, TorchModule
from bnnbench.methods.networks.modules.building import built, parts
from bnnbench.methods.networks.modules.trials import Called, trial_of, unsupported
from bnnbench.methods.networks.shapes import Shape

NORMS = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm)


class Inner(NamedTuple):
    """A layer inside a module."""

    path: str
    """Name of the layer in the module."""
    layer: Linear | Conv2d
    units: int
    features: int
    """Number of inputs of one unit, plus 1 for its bias."""
    positions: int
    last: bool
    """True if its output is the module's output."""


def layers_of(layer: TorchModule, input_shape: Shape) -> Iterator[Inner]:
    """Yield the layers with trained weights except norms, in the order of parameters.

    Raises `Unsupported` for other weights, and for layers that are called several times.
    """
    trained, module = parts(layer).trained, built(layer, 0)
    called = {one.path: one for one in trial_of(layer, input_shape).called}
    shared = {name.rpartition(".")[0] for name in parts(layer).aliases.values()}
    for path in dict.fromkeys(name.rpartition(".")[0] for name in trained):
        part = module.get_submodule(path)
        if isinstance(part, NORMS):
            continue
        names = {name for name in trained if name.rpartition(".")[0] == path}
        one = called.get(path)
        if one is None or f"{path}.weight".lstrip(".") not in names:
            raise _uncovered(layer, f"the parameter {min(names)} of a {type(part).__name__}")
        if one.times != 1 or path in shared:
            raise _uncovered(layer, f"{path}, which is called {one.times} times or shared")
        yield _inner(layer, one, f"{path}.bias".lstrip(".") in names)


def _inner(layer: TorchModule, one: Called, bias: bool) -> Inner:
    part, shape = one.module, one.module.weight.shape
    twin = Linear(shape[0], bias)
    if isinstance(part, nn.Conv2d):
        sides = part.kernel_size, part.stride, part.padding, part.dilation
        square = all(not isinstance(pair, str) and pair[0] == pair[1] for pair in sides)
        plain = part.groups == 1 and part.dilation == (1, 1) and part.padding_mode == "zeros"
        if not (square and plain):
            raise _uncovered(layer, f"{one.path}, {part}, which is not a plain square convolution")
        padding = part.padding[0]
        assert isinstance(padding, int)
        twin = Conv2d(shape[0], part.kernel_size[0], part.stride[0], padding, bias)
    return Inner(
        one.path, twin, shape[0], shape[1:].numel() + bias, max(one.positions, 1), one.last
    )


def _uncovered(layer: TorchModule, got: str) -> Unsupported:
    return unsupported(
        layer,
        "needed trained weights of nn.Linear and nn.Conv2d that are called once, beside norms",
        f"it has {got}; freeze the others, or take a head of this project and its last layer",
    )
