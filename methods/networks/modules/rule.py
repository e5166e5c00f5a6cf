"""The computation rule of a module: a functional call with a member's weights.

It does the same as `torch.func.functional_call`, but looks up each tensor's location only once:
looking them up in every call takes longer than running a small network.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm as AnyBatchNorm

from bnnbench.methods.fitting.randomness import Streams
from bnnbench.methods.networks.alignment import aligned, put_back
from bnnbench.methods.networks.modules.building import KEPT, built, parts
from bnnbench.methods.networks.modules.drawing import Drawing, global_streams, with_own_streams
from bnnbench.methods.networks.modules.trials import Trial, trial_of, unsupported
from bnnbench.methods.networks.passes import Parameters, Pass
from bnnbench.methods.networks.torch_module import TorchModule

STATISTICS = ("running_mean", "running_var")


class Template:
    """A module with the values of its frozen parts, to be called with a member's values."""

    def __init__(self, layer: TorchModule, device: torch.device, dtype: torch.dtype) -> None:
        self.parts = parts(layer)
        self.module = built(layer, 0).to(device, dtype).requires_grad_(False)
        self.drawing = Drawing()
        with_own_streams(self.module, self.drawing)
        self.buffers = {name: self.module.get_buffer(name) for name in self.parts.moving}
        """Initial values of the buffers that are not frozen."""
        self._copied = [n for n in self.buffers if n.rpartition(".")[2] not in STATISTICS]
        """Buffers that the module may replace, or change in a way that autograd detects."""
        self._norms = [m for m in self.module.modules() if isinstance(m, AnyBatchNorm)]
        self._places = {name: _place(self.module, name) for name in _every_name(self.module)}
        self._training: bool | None = None

    def train(self, training: bool) -> None:
        """Set the mode of all parts that are not frozen."""
        if self._training != training:
            self.module.train(training)
            for path in self.parts.still:
                self.module.get_submodule(path).eval()
        self._training = training

    @contextmanager
    def momentum(self, momentum: float) -> Iterator[None]:
        """Replace the momentum of all batch norms inside the block."""
        momenta = [norm.momentum for norm in self._norms]
        for norm in self._norms:
            norm.momentum = momentum
        try:
            yield
        finally:
            for norm, before in zip(self._norms, momenta, strict=True):
                norm.momentum = before

    def __call__(self, tensors: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Return the outputs; training changes buffers among `tensors` in place."""
        given = dict(tensors)
        for name in self._copied:
            given[name] = tensors[name].to(self.buffers[name].dtype, copy=True)
        given |= {n: given[first] for n, first in self.parts.aliases.items() if first in given}
        slots = [(*self._places[name], tensor) for name, tensor in given.items()]
        earlier = [table[name] for table, name, _ in slots]
        try:
            for table, name, tensor in slots:
                table[name] = tensor
            outputs = self.module(x)
            for name in self._copied if self._training else ():
                table, key = self._places[name]
                # Hidden from autograd, as in batch norm: to autograd, all buffers are one tensor.
                tensors[name].data.copy_(table[key])
        finally:
            for (table, name, _), before in zip(slots, earlier, strict=True):
                table[name] = before
        return outputs


def _every_name(module: nn.Module) -> Iterator[str]:
    yield from (name for name, _ in module.named_parameters(remove_duplicate=False))
    yield from (name for name, _ in module.named_buffers(remove_duplicate=False))


def _place(module: nn.Module, name: str) -> tuple[dict[str, Any], str]:
    """Return the dictionary of a submodule that holds a tensor, and the tensor's name there."""
    path, _, own_name = name.rpartition(".")
    part = module.get_submodule(path)
    return (part._parameters if own_name in part._parameters else part._buffers), own_name


def module_rule(
    layer: TorchModule, stacks: Sequence[Parameters], x: Tensor, context: Pass
) -> Tensor:
    """Return the module's outputs; missing buffers have the values of the module as built."""
    if len(stacks) != 1 or not isinstance(x, Tensor):
        raise unsupported(
            layer, "needed layers of this project, whose formulas are known", "use another method"
        )
    x = x.contiguous()  # as in the trial: our layers pass images channels last
    trial = trial_of(layer, tuple(x.shape[2:]))
    if trial.draws and context.noise == "shared":
        raise unsupported(
            layer,
            "needed dropout layers, which can drop the same units at all points",
            "use nn.Dropout, and neither functional.dropout nor other random numbers",
        )
    template, members = template_of(layer, x.device, x.dtype), x.shape[0]
    tensors = {**stacks[0]}
    for name, buffer in template.buffers.items():
        if name not in tensors:
            tensors[name] = buffer.to(x.dtype).expand(members, *buffer.shape).clone()
    template.train(context.training)
    with nullcontext() if context.momentum is None else template.momentum(context.momentum):
        if layer.stacked and not trial.alone and members > 1:
            return torch.vmap(template)(tensors, x)
        streams = _streams(context, members)
        if members == 1:
            # A view, whose gradient is not copied.
            alone = {name: tensor.squeeze(0) for name, tensor in tensors.items()}
            return _of_member(template, trial, alone, x.squeeze(0), context, *streams).unsqueeze(0)
        by_name = {name: tensor.unbind() for name, tensor in tensors.items()}
        outputs = [
            _of_member(
                template,
                trial,
                {name: tensors[member] for name, tensors in by_name.items()},
                x[member],
                context,
                rng,
            )
            for member, rng in enumerate(streams)
        ]
    return torch.stack(outputs)


def template_of(layer: TorchModule, device: torch.device, dtype: torch.dtype) -> Template:
    """Return the template of a layer; each thread has its own, since calls change it."""
    return _template(layer, device, dtype, threading.get_ident())


@lru_cache(KEPT)
def _template(layer: TorchModule, device: torch.device, dtype: torch.dtype, _: int) -> Template:
    return Template(layer, device, dtype)


def _of_member(
    template: Template,
    trial: Trial,
    tensors: Mapping[str, Tensor],
    x: Tensor,
    context: Pass,
    rng: Generator | None,
) -> Tensor:
    template.drawing.noise, template.drawing.rng = context.noise, rng
    readable = {name: aligned(tensor) for name, tensor in tensors.items()}
    if trial.draws and context.training:
        with global_streams(rng if context.noise == "per_example" else None, x.device):
            outputs = template(readable, x)
    else:
        outputs = template(readable, x)
    for name in template.buffers:
        put_back(tensors[name], readable[name])
    return outputs


def _streams(context: Pass, members: int) -> Iterator[Generator | None]:
    """Yield each member's generator; members that share one get the same numbers."""
    if context.rngs is None or context.noise == "off":
        yield from [None] * members
        return
    streams = context.rngs if isinstance(context.rngs, Streams) else Streams(context.rngs)
    if len(streams) != members:
        raise ValueError(f"needed rngs, one for each of {members} members; got {len(streams)}")
    shared = len(streams.distinct) < members
    starts = {id(rng): rng.get_state() for rng in streams.distinct} if shared else {}
    for rng in streams.of_members:
        if shared:
            rng.set_state(starts[id(rng)])
        yield rng
