"""A custom network from the command line, in place of a suite's networks."""

import inspect
from dataclasses import replace
from typing import Any

from torch import nn

from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Suite
from bnnbench.methods.networks.architectures import Linear, TorchModule
from bnnbench.methods.networks.modules.building import built
from bnnbench.methods.networks.torch_module import name_of_factory
from bnnbench.methods.own_files import imported
from bnnbench.wording import UsageError


def with_network(suite: Suite, factory: str) -> Suite:
    """Return the suite with the factory's module as every method's network.

    The factory's parameter `inputs` receives the shape of one input, a number for a vector, and
    its parameter `outputs` the number of targets or classes. Raises UsageError.
    """
    try:
        name = name_of_factory(factory)
        place, _, function = name.partition(":")
        made: Any = getattr(imported(place), function)
        if isinstance(made, nn.Module):
            raise TypeError(
                f"needed a function that returns a network; {function} is itself a network"
            )
        asked = inspect.signature(made).parameters
    except Exception as error:  # importing a module may raise anything
        raise UsageError(f"--network: {factory}: {error or type(error).__name__}") from error
    cases = tuple(replace(case, network=_network(case, name, {*asked})) for case in suite.cases)
    return replace(suite, cases=cases, own_architectures={})


def _network(case: Case, factory: str, asked: set[str]) -> tuple[TorchModule]:
    last = case.network[-1] if case.network else None
    if not isinstance(last, Linear):
        raise UsageError(
            f"--network: needed a suite's network that ends in a linear layer, which gives the "
            f"number of outputs; {case.name} ends in {last}: declare a custom suite, with "
            "TorchModule(..., outputs=...)"
        )
    facts: dict[str, Any] = {"outputs": last.outputs}
    if "inputs" in asked:
        shape = case.source.load(0).train.inputs.shape[1:]
        facts["inputs"] = tuple(shape) if len(shape) > 1 else shape.numel()
    arguments = {name: value for name, value in facts.items() if name in asked}
    layer = TorchModule(factory, last.outputs, arguments=arguments)
    try:
        built(layer, 0)
    except (Exception, SystemExit) as error:
        kind = type(error).__name__
        raise UsageError(f"--network: {factory}{arguments or ''} fails: {kind}: {error}") from error
    return (layer,)
