"""Inputs of a network's dense and convolutional layers, and gradients in the layers' outputs.

The Jacobian of a network's output with respect to a layer's weights is a sum over positions: the
gradient with respect to the layer's output times the layer's input. A dense layer has one position.
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from bnnbench.methods.base import Unsupported
from bnnbench.methods.laplace.module_layers import Inner, layers_of
from bnnbench.methods.networks.architectures import AnalyticNorm, Conv2d, Linear, TorchModule
from bnnbench.methods.networks.modules.rule import module_rule, template_of
from bnnbench.methods.networks.passes import Parameters, Pass
from bnnbench.methods.networks.shapes import walk
from bnnbench.methods.networks.torch_layers import convolution, linear, pad
from bnnbench.methods.networks.torch_network import TorchNetwork


class Block(NamedTuple):
    """The weights of one layer and their position in a flat vector: kernel, then bias."""

    path: str
    """Path of the layer, such as "12.body.3"; it may lead into a module."""
    layer: Linear | Conv2d
    units: int
    features: int
    """Number of inputs of one unit, plus 1 for its bias."""
    start: int
    positions: int
    """Number of positions of its outputs; 1 for a dense layer."""

    @property
    def size(self) -> int:
        """The number of weights."""
        return self.units * self.features

    @property
    def stop(self) -> int:
        """The offset after the last weight."""
        return self.start + self.size

    def matrix(self, flat: Float[Tensor, "*batch size"]) -> Float[Tensor, "*batch units features"]:
        """Return flat values as a matrix, with the bias in its last column."""
        if not self.layer.bias:
            return flat.unflatten(-1, (self.units, self.features))
        kernel, bias = flat.split([self.size - self.units, self.units], -1)
        return torch.cat([kernel.unflatten(-1, (self.units, -1)), bias[..., None]], -1)

    def flat(self, matrix: Float[Tensor, "*batch units features"]) -> Float[Tensor, "*batch size"]:
        """Return a matrix of weights, with the bias in its last column, as a flat vector."""
        if not self.layer.bias:
            return matrix.flatten(-2)
        return torch.cat([matrix[..., :-1].flatten(-2), matrix[..., -1]], -1)


class Entry(NamedTuple):
    """The values recorded for one layer."""

    inputs: Float[Tensor, "points positions features"]
    """Inputs of every unit at every position, followed by 1 for its bias."""
    gradients: Float[Tensor, "points directions positions units"]
    """Gradients of combinations of the network's outputs with respect to the layer's output."""

    def jacobian(self) -> Float[Tensor, "points directions units features"]:
        """Return the gradients with respect to the layer's weights."""
        return self.gradients.mT @ self.inputs[:, None]

    def squares(self) -> Float[Tensor, "units features"]:
        """Return the squared Jacobian, summed over points and directions."""
        if self.inputs.shape[1] > 1:
            return self.jacobian().square().sum((0, 1))
        # For a single position, the Jacobian is a product that need not be formed.
        return self.gradients[:, :, 0].square().sum(1).mT @ self.inputs[:, 0].square()

    def weighted_squares(
        self, weights: Float[Tensor, "units features"]
    ) -> Float[Tensor, "points directions"]:
        """Return the squared Jacobian times `weights`, summed over the layer's weights."""
        if self.inputs.shape[1] > 1:
            return (self.jacobian().square() * weights).sum((-2, -1))
        per_unit = self.inputs[:, 0].square() @ weights.mT
        return (self.gradients[:, :, 0].square() * per_unit[:, None]).sum(-1)


class LayerRecorder:
    """A network that records the inputs of its layers: all of them, or the last.

    Other weights, namely those of norms, are not covered. Raises `Unsupported` for a network whose
    norms are functions of its weights, and if only the last layer is covered and is not dense.
    Layers inside a module are recorded by hooks.
    """

    def __init__(self, network: TorchNetwork, last_only: bool = False) -> None:
        self.arguments = (network, last_only)
        placed = [*walk(network.architecture, network.input_shape)]
        if any(isinstance(layer, AnalyticNorm) for _, layer, _, _ in placed):
            raise Unsupported(
                "needed a network without AnalyticNorm, through which outputs depend on all "
                "weights before it; BatchNorm is covered"
            )
        self.blocks = [_last(network)] if last_only else blocks(network)
        self._paths = {
            kinds: [path for path, layer, _, _ in placed if isinstance(layer, kinds)]
            for kinds in (Linear | Conv2d, TorchModule)
        }
        rules = {Linear: self._linear, Conv2d: self._convolution, TorchModule: self._module}
        self._network = TorchNetwork(network.architecture, network.input_shape, rules)
        self._seen: dict[str, tuple[Tensor, Tensor]] = {}
        """Path of a block → inputs and outputs of its layer."""
        self._to_come: dict[Any, Iterator[str]] = {}
        """Kinds of layers → paths that the current call has not reached."""

    def __reduce__(self) -> tuple[type["LayerRecorder"], tuple[TorchNetwork, bool]]:
        """Return the constructor and its arguments, by which a copy is made anew."""
        return type(self), self.arguments

    @property
    def size(self) -> int:
        """The number of covered weights."""
        return sum(block.size for block in self.blocks)

    def flat(self, matrices: Sequence[Float[Tensor, "*batch _ _"]]) -> Float[Tensor, "*batch size"]:
        """Return the matrices of all blocks as one vector of all covered weights."""
        parts = zip(self.blocks, matrices, strict=True)
        return torch.cat([block.flat(matrix) for block, matrix in parts], -1)

    def indices(self, device: torch.device) -> Tensor:
        """Return the positions of covered weights in a flat vector of all weights."""
        return torch.cat([torch.arange(b.start, b.stop, device=device) for b in self.blocks])

    def outputs(
        self,
        weights: Float[Tensor, "1 parameters"],
        buffers: Float[Tensor, "1 buffers"],
        inputs: Float[Tensor, "points *features"],
    ) -> Float[Tensor, "points outputs"]:
        """Return the outputs, and record the values that one call of `entries` needs."""
        self._seen = {}
        self._to_come = {kinds: iter(paths) for kinds, paths in self._paths.items()}
        with torch.enable_grad():
            return self._network(weights, inputs[None], buffers=buffers)[0]

    def last_inputs(
        self,
        weights: Float[Tensor, "1 parameters"],
        buffers: Float[Tensor, "1 buffers"],
        inputs: Float[Tensor, "points *features"],
    ) -> Float[Tensor, "points features"]:
        """Return the inputs of the last covered layer, a dense one."""
        self.outputs(weights, buffers, inputs)
        before, _ = self._seen[self.blocks[-1].path]
        self._seen = {}
        return before

    def entries(
        self,
        outputs: Float[Tensor, "points outputs"],
        directions: Float[Tensor, "points outputs directions"],
        *,
        differentiable: bool = False,
    ) -> list[Entry]:
        """Return, block by block, the gradients of combinations of the last call's outputs.

        If `differentiable`, they can be differentiated with respect to the network's inputs.
        """
        recorded = [self._seen[block.path] for block in self.blocks]
        self._seen = {}  # a graph lives no longer than its entries
        outputs_of_layers = [after for _, after in recorded]
        columns = [
            torch.autograd.grad(
                outputs, outputs_of_layers, column, retain_graph=True, create_graph=differentiable
            )
            for column in directions.unbind(-1)
        ]
        entries = []
        for block, (before, _), gradients in zip(
            self.blocks, recorded, zip(*columns, strict=True), strict=True
        ):
            before = before if differentiable else before.detach()
            stacked = _positions(block.layer, torch.cat(gradients, 0).transpose(0, 1))
            entries.append(Entry(_rows(block.layer, before), stacked))
        return entries

    def _linear(
        self, layer: Linear, stacks: Sequence[Parameters], x: Tensor, context: Pass
    ) -> Tensor:
        return self._remembered(x, linear(layer, stacks, x, context))

    def _convolution(
        self, layer: Conv2d, stacks: Sequence[Parameters], x: Tensor, context: Pass
    ) -> Tensor:
        return self._remembered(x, convolution(layer, stacks, x, context))

    def _remembered(self, before: Tensor, after: Tensor) -> Tensor:
        path = next(self._to_come[Linear | Conv2d])
        if any(block.path == path for block in self.blocks):
            if not after.requires_grad:
                after.requires_grad_()
            self._seen[path] = before[0], after
        return after

    def _module(
        self, layer: TorchModule, stacks: Sequence[Parameters], x: Tensor, context: Pass
    ) -> Tensor:
        place = next(self._to_come[TorchModule])
        module = template_of(layer, x.device, x.dtype).module
        hooks = [
            module.get_submodule(block.path[len(place) + 1 :]).register_forward_hook(
                partial(self._noted, block.path)
            )
            for block in self.blocks
            if f"{block.path}.".startswith(f"{place}.")
        ]
        try:
            return module_rule(layer, stacks, x, context)
        finally:
            for hook in hooks:
                hook.remove()

    def _noted(self, path: str, _: nn.Module, inputs: tuple[Tensor, ...], after: Tensor) -> Tensor:
        """Record a layer inside a module; the following layers may change its copy in place."""
        if not after.requires_grad:
            after.requires_grad_()
        self._seen[path] = inputs[0], after[None]
        return self._seen[path][1][0].clone()


def blocks(network: TorchNetwork) -> list[Block]:
    """Return a network's dense and convolutional layers, in the order of parameters.

    Layers inside modules are included. Raises `Unsupported` for a module with other weights.
    """
    starts = {part.owner: part.offset for part in reversed(network.parameters)}
    layers = []
    for path, layer, before, after in walk(network.architecture, network.input_shape):
        if isinstance(layer, Linear | Conv2d):
            features = before[0] * getattr(layer, "kernel", 1) ** 2 + layer.bias
            layers.append(
                Block(path, layer, after[0], features, starts[path], math.prod(after[1:]))
            )
        elif isinstance(layer, TorchModule):
            for inner in layers_of(layer, before):
                place = _inside(path, inner)
                layers.append(
                    Block(place, *inner[1:4], start=starts[place], positions=inner.positions)
                )
    return layers


def _inside(path: str, inner: Inner) -> str:
    return f"{path}.{inner.path}".rstrip(".")


def _last(network: TorchNetwork) -> Block:
    """Return the last layer; raises `Unsupported` if it is not dense."""
    *_, (path, layer, before, _) = walk(network.architecture, network.input_shape)
    if isinstance(network.architecture[-1], Linear):
        return blocks(network)[-1]
    if isinstance(network.architecture[-1], TorchModule):
        assert isinstance(layer, TorchModule)
        ends = {_inside(path, inner) for inner in layers_of(layer, before) if inner.last}
        for block in blocks(network):
            if block.path in ends and isinstance(block.layer, Linear):
                return block
    raise Unsupported(
        f"needed a network that ends in a linear layer; got {network.architecture[-1]}"
    )


def _rows(
    layer: Linear | Conv2d, x: Float[Tensor, "points *sides"]
) -> Float[Tensor, "points positions features"]:
    """Return the parts of a layer's input that its units receive."""
    if isinstance(layer, Conv2d):
        rows = functional.unfold(pad(x, layer), layer.kernel, stride=layer.stride).mT
    else:
        rows = x[:, None] if x.dim() == 2 else x.flatten(1, -2)
    return functional.pad(rows, (0, 1), value=1.0) if layer.bias else rows


def _positions(
    layer: Linear | Conv2d, gradients: Float[Tensor, "points directions *units_and_sides"]
) -> Float[Tensor, "points directions positions units"]:
    if isinstance(layer, Conv2d):
        return gradients.flatten(3).mT
    return gradients[..., None, :] if gradients.dim() == 3 else gradients.flatten(2, -2)
