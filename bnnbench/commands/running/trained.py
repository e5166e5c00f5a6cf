"""A trained network from the command line, and the treatments that can be applied to it."""

import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from bnnbench.datasets.own.trained import TrainedOn
from bnnbench.engine.declare.grid import Suite
from bnnbench.methods.base import Method, Unsupported
from bnnbench.methods.laplace.layer_recorder import LayerRecorder
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.mc_dropout import McDropout, has_dropout
from bnnbench.methods.networks.architectures import Architecture, MeanAndLogVariance, TorchModule
from bnnbench.methods.networks.heteroscedastic import states_variance
from bnnbench.methods.networks.modules.building import built
from bnnbench.methods.networks.modules.trained import start_of_file
from bnnbench.methods.networks.torch_module import name_of_factory
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.own_files import imported
from bnnbench.methods.post_hoc.on_last_layer import OnLastLayer
from bnnbench.wording import UsageError


@dataclass(frozen=True)
class Trained:
    """A trained network, its files of weights, and its data with the network's classes."""

    source: TrainedOn
    architecture: Architecture
    files: tuple[str, ...]

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one input."""
        return tuple(self.source.load(0).train.inputs.shape[1:])


def trained(factory: str, files: list[str], outputs: str, source: TrainedOn) -> Trained:
    """Return the network of a factory with the weights of the first file.

    Raises UsageError unless all files fit the network, and the network the data.
    """
    inputs = source.load(0).train.inputs
    targets = source.load(0).columns
    needed = targets if source.classes or outputs == "mean" else 2 * targets
    name, arguments = _named(factory, inputs, needed)
    paths = tuple(map(os.path.realpath, files))
    try:
        layer = TorchModule(name, 1, arguments=arguments, weights=paths[0])
        width = _width(layer, inputs[:2])
        layer = replace(layer, outputs=width)
        for path in paths[1:]:
            start_of_file((layer,), tuple(inputs.shape[1:]), path)
    except (Exception, SystemExit) as error:  # building a module may raise anything
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        raise UsageError(f"{factory}: {kind}{error}") from error
    last = () if source.classes or outputs == "mean" else (MeanAndLogVariance(),)
    return Trained(_checked(source, width, needed, outputs), (layer, *last), paths)


def _named(factory: str, inputs: torch.Tensor, outputs: int) -> tuple[str, dict[str, Any]]:
    """Return the factory's name, and the arguments that it asks for."""
    try:
        name = name_of_factory(factory)
        place, _, function = name.partition(":")
        made: Any = getattr(imported(place), function)
        asked = {*inspect.signature(made).parameters}
    except Exception as error:  # importing a module may raise anything
        raise UsageError(f"{factory}: {error or type(error).__name__}") from error
    if isinstance(made, nn.Module):
        raise UsageError(f"{factory} is itself a network: give a function that returns it")
    shape = tuple(inputs.shape[1:])
    facts = {"inputs": shape if len(shape) > 1 else inputs.shape[1], "outputs": outputs}
    return name, {key: value for key, value in facts.items() if key in asked}


@torch.no_grad()
def _width(layer: TorchModule, inputs: torch.Tensor) -> int:
    outputs = built(layer, 0).eval()(inputs)
    if not isinstance(outputs, torch.Tensor) or outputs.ndim != 2:
        given = tuple(outputs.shape) if isinstance(outputs, torch.Tensor) else type(outputs)
        raise ValueError(f"needed outputs of shape (rows, outputs); got {given}")
    return outputs.shape[1]


def _checked(source: TrainedOn, width: int, needed: int, outputs: str) -> TrainedOn:
    """Return the source with the network's number of classes."""
    if source.classes and width > needed:
        return replace(source, classes=width)
    if width != needed:
        kind = f"{source.classes} classes" if source.classes else f"--outputs {outputs}"
        raise UsageError(
            f"the network has {width} outputs, but the targets of {kind} need {needed}: change "
            "--task, --outputs or --classes"
        )
    return source


def applicable(suites: Mapping[str, Suite], network: Trained) -> dict[str, Suite]:
    """Return the profiles without the treatments that the network does not allow."""
    return {
        profile: replace(suite, methods=_allowed(suite, network))
        for profile, suite in suites.items()
    }


def refusals(suite: Suite, network: Trained) -> dict[str, list[str]]:
    """Return reason → labels of the treatments that the network does not allow."""
    labels: dict[str, list[str]] = {}
    for label, method in suite.methods.items():
        if reason := _refusal(method, network):
            labels.setdefault(reason, []).append(label)
    return labels


def _allowed(suite: Suite, network: Trained) -> dict[str, Method]:
    methods = suite.methods.items()
    return {label: method for label, method in methods if not _refusal(method, network)}


def _refusal(method: Method, network: Trained) -> str:
    """Return why a treatment cannot be applied to a network; "" if it can."""
    inner = getattr(method, "method", None)
    if isinstance(method, McDropout) and not has_dropout(network.architecture):
        return "the network has no layer of nn.Dropout with a rate above 0"
    if states_variance(network.architecture) and isinstance(method, Laplace | OnLastLayer):
        return "needed one output per target, and a single noise variance; got log variances too"
    whole = TorchNetwork(network.architecture, network.input_shape)
    try:
        if isinstance(method, Laplace):
            method.structure.recorder(whole)
        if isinstance(method, OnLastLayer):
            LayerRecorder(whole, last_only=True)
            return ""
    except Unsupported as reason:
        return str(reason)
    return _refusal(inner, network) if inner is not None else ""
