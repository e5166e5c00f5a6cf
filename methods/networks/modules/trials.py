"""Facts about a module, learned by running it once on two points of a shape."""

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm as AnyBatchNorm

from bnnbench.methods.base import Unsupported
from bnnbench.methods.networks.modules.building import KEPT, built, parts
from bnnbench.methods.networks.modules.drawing import Drawing, with_own_streams
from bnnbench.methods.networks.torch_module import TorchModule


@dataclass(frozen=True)
class Called:
    """A dense or convolutional layer of a module, as the module called it."""

    path: str
    module: nn.Linear | nn.Conv2d
    times: int
    positions: int
    """Number of positions of its outputs; 1 for a vector."""
    last: bool
    """True if its output is the module's output."""


@dataclass(frozen=True)
class Trial:
    """Facts about a module for inputs of one shape."""

    draws: bool
    """True if, in training, it draws random numbers outside dropout layers."""
    dropouts: int
    """Number of dropout layers that are not frozen and drop units."""
    norms: tuple[str, ...]
    """Names of the batch norms that are not frozen."""
    alone: str
    """Reason why several members cannot be computed by `torch.vmap`; "" if they can."""
    called: tuple[Called, ...]


def unsupported(layer: TorchModule, needed: str, cure: str) -> Unsupported:
    """Return the error of a method that does not cover a module."""
    return Unsupported(f"{needed}; got {layer}: {cure}")


@lru_cache(KEPT)
def trial_of(layer: TorchModule, input_shape: tuple[int, ...]) -> Trial:
    """Return facts about the module for inputs of this shape.

    Raises `Unsupported` if it does not accept them, or if its outputs lack the layer's shape.
    """
    module, facts = built(layer, 0), parts(layer)
    dropped = with_own_streams(module, Drawing())
    module.train()
    for path in facts.still:
        module.get_submodule(path).eval()
    before = torch.default_generator.get_state()
    called, outputs = _called(layer, module, input_shape)
    draws = not torch.equal(before, torch.default_generator.get_state())
    torch.default_generator.set_state(before)
    if tuple(outputs.shape) != (2, *layer.output_shape):
        raise unsupported(
            layer,
            f"needed outputs of shape {layer.output_shape}",
            f"its outputs have the shape {tuple(outputs.shape[1:])}; state it by outputs=...",
        )
    norms = tuple(
        path
        for path, part in module.named_modules()
        if isinstance(part, AnyBatchNorm) and part.training
    )
    active = sum(part.training and part.rate > 0 for part in dropped)
    alone = "it draws random numbers" if active or draws else ""
    alone = alone or ("it has buffers that are not frozen" if facts.moving else "")
    if layer.stacked and not alone:
        alone = _vmap_fails(module, facts.trained, input_shape)
    return Trial(draws, active, norms, alone, called)


def _called(
    layer: TorchModule, module: nn.Module, input_shape: tuple[int, ...]
) -> tuple[tuple[Called, ...], Tensor]:
    seen: dict[str, list[Tensor]] = {}
    paths = {part: path for path, part in module.named_modules()}

    def note(part: nn.Module, inputs: tuple[Tensor, ...], outputs: Tensor) -> None:
        if isinstance(part, nn.Conv2d) and _breaks_onednn(part, inputs[0]):
            warnings.warn(
                f"{layer.factory}, {paths[part]}, {part}: on processors without AVX-512 torch may "
                "crash in this layer or compute wrong gradients, as its 1 x 1 kernel has a stride "
                "and its inputs are channels last: give it contiguous inputs, or stride 1 and "
                f"inputs x[..., ::{part.stride[0]}, ::{part.stride[1]}]",
                stacklevel=2,
            )
        seen.setdefault(paths[part], []).append(outputs)

    of_weights = {p: m for m, p in paths.items() if isinstance(m, nn.Linear | nn.Conv2d)}
    hooks = [part.register_forward_hook(note) for part in of_weights.values()]
    try:
        with torch.no_grad():
            outputs = module(torch.zeros(2, *input_shape))
    except Exception as error:
        raise unsupported(
            layer,
            f"needed a module that takes inputs of shape {input_shape}",
            f"it raised {type(error).__name__}: {error}",
        ) from error
    finally:
        for hook in hooks:
            hook.remove()
    if not isinstance(outputs, Tensor):
        kind = type(outputs).__name__
        raise unsupported(layer, "needed a module that returns one tensor", f"it returned a {kind}")
    called = [
        Called(path, part, len(after), _positions(part, after), any(a is outputs for a in after))
        for path, part in of_weights.items()
        if (after := seen.get(path, [])) is not None
    ]
    return tuple(called), outputs


def _breaks_onednn(part: nn.Conv2d, inputs: Tensor) -> bool:
    """Return whether a layer is affected by uxlfoundation/oneDNN 6035."""
    pointwise = part.kernel_size == (1, 1) and part.stride != (1, 1)
    narrow = part.in_channels // part.groups < 8
    channels_last = inputs.is_contiguous(memory_format=torch.channels_last)
    return pointwise and narrow and channels_last and not inputs.is_contiguous()


def _positions(part: nn.Module, outputs: Sequence[Tensor]) -> int:
    if not outputs:
        return 0
    sides = outputs[0].shape[2:] if isinstance(part, nn.Conv2d) else outputs[0].shape[1:-1]
    return sides.numel()


def _vmap_fails(module: nn.Module, trained: object, input_shape: tuple[int, ...]) -> str:
    """Return why `torch.vmap` fails for the module, "" if it does not."""
    twin = copy.deepcopy(module)
    stacked = {name: torch.stack([p.detach()] * 2) for name, p in twin.named_parameters()}

    def call(tensors: dict[str, Tensor], x: Tensor) -> Tensor:
        return functional_call(twin, tensors, (x,))

    try:
        torch.vmap(call)(stacked, torch.zeros(2, 2, *input_shape))
    except Exception as error:
        return str(error).strip().splitlines()[0]
    return ""
