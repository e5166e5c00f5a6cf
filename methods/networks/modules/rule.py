"""The rule by which a module computes: `torch.func.functional_call` with a member's weights."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache

import torch
from torch import Generator, Tensor
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm as AnyBatchNorm

from bnnbench.methods.fitting.randomness import Streams
from bnnbench.methods.networks.modules.building import KEPT, built, parts
from bnnbench.methods.networks.modules.drawing import Drawing, global_streams, with_own_streams
from bnnbench.methods.networks.modules.trials import Trial, trial_of, unsupported
from bnnbench.methods.networks.passes import Parameters, Pass
from bnnbench.methods.networks.torch_module import TorchModule


class Template:
    """A module with the values of its frozen part, to be called with those of a member."""

    def __init__(self, layer: TorchModule, device: torch.device, dtype: torch.dtype) -> None:
        self.parts = parts(layer)
        self.module = built(layer, 0).to(device, dtype).requires_grad_(False)
        self.drawing = Drawing()
        with_own_streams(self.module, self.drawing)
        self.buffers = {name: self.module.get_buffer(name) for name in self.parts.moving}
        """Buffers that move, as they are at first."""
        self._counters = [n for n, b in self.buffers.items() if not b.is_floating_point()]
        self._norms = [m for m in self.module.modules() if isinstance(m, AnyBatchNorm)]
        self._training: bool | None = None

    def train(self, training: bool) -> None:
        """Set the mode of all that is not frozen."""
        if self._training != training:
            self.module.train(training)
            for path in self.parts.still:
                self.module.get_submodule(path).eval()
        self._training = training

    @contextmanager
    def momentum(self, momentum: float | None) -> Iterator[None]:
        """Replace the momentum of all batch norms within the block, if one is given."""
        own = [norm.momentum for norm in self._norms]
        for norm in self._norms if momentum is not None else ():
            norm.momentum = momentum
        try:
            yield
        finally:
            for norm, before in zip(self._norms, own, strict=True):
                norm.momentum = before

    def __call__(self, tensors: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Return the outputs; buffers among `tensors` change in place in training."""
        given = dict(tensors)
        for name in self._counters:
            given[name] = tensors[name].to(self.buffers[name].dtype)
        given |= {n: given[first] for n, first in self.parts.aliases.items() if first in given}
        outputs = functional_call(self.module, given, (x,), tie_weights=False)
        if self._training:
            for name in self.parts.moving:
                if given[name] is not tensors[name]:
                    tensors[name].copy_(given[name])
        return outputs


def module_rule(
    layer: TorchModule, stacks: Sequence[Parameters], x: Tensor, context: Pass
) -> Tensor:
    """Return the module's outputs; without buffers, with those that it is built with."""
    if len(stacks) != 1 or not isinstance(x, Tensor):
        raise unsupported(
            layer, "needed layers of this project, whose formulas are known", "take another method"
        )
    trial = trial_of(layer, tuple(x.shape[2:]))
    if trial.draws and context.noise == "shared":
        raise unsupported(
            layer,
            "needed dropout layers, whose units can be dropped at all points alike",
            "use nn.Dropout, and neither functional.dropout nor other random numbers",
        )
    template = template_of(layer, x.device, x.dtype)
    own = dict(stacks[0])
    for name, buffer in template.buffers.items() if own.keys() < _names(template) else ():
        if name not in own:
            own[name] = buffer.to(x.dtype).expand(len(x), *buffer.shape).clone()
    template.train(context.training)
    with template.momentum(context.momentum):
        if layer.stacked and not trial.alone and len(x) > 1:
            return torch.vmap(template)(own, x)
        outputs = [
            _of_member(template, trial, tensors, row, context, rng)
            for tensors, row, rng in zip(
                _unbound(own, len(x)), _rows(x), _streams(context, len(x)), strict=True
            )
        ]
    return outputs[0].unsqueeze(0) if len(outputs) == 1 else torch.stack(outputs)


def template_of(layer: TorchModule, device: torch.device, dtype: torch.dtype) -> Template:
    """Return the template of a layer; each thread has its own, as calls change it."""
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
    if not (trial.draws and context.training):
        return template(tensors, x)
    with global_streams(rng if context.noise == "per_example" else None, x.device):
        return template(tensors, x)


def _streams(context: Pass, members: int) -> Iterator[Generator | None]:
    """Yield each member's generator; members that share one get the same numbers from it."""
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


def _names(template: Template) -> set[str]:
    return {*template.parts.trained, *template.parts.moving}


def _unbound(own: Mapping[str, Tensor], members: int) -> Iterator[dict[str, Tensor]]:
    """Yield each member's tensors by name."""
    rows = {name: _rows(tensor) for name, tensor in own.items()}
    for member in range(members):
        yield {name: tensors[member] for name, tensors in rows.items()}


def _rows(tensor: Tensor) -> Sequence[Tensor]:
    """Return the members' parts; that of one member alone is no copy, nor its gradient."""
    return (tensor.squeeze(0),) if len(tensor) == 1 else tensor.unbind()
