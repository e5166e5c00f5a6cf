"""Third-party methods and networks, and methods of which only predictions are available."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

import torch

from bnnbench.engine.declare.description import describe
from bnnbench.engine.declare.grid import Run
from bnnbench.engine.declare.names import path_of
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.names import FACTORIES
from bnnbench.methods.networks.architectures import modules_in

OURS = ("__main__", "bnnbench", "torch")
"""Packages whose modules, as networks, are not third-party."""


def is_third_party(method: object) -> bool:
    """Return whether a class of the method, or of one inside it, is third-party.

    A class in the file that was started is not: processes cannot import it safely.
    """
    return any(name.partition(":")[0] != "__main__" for name in _unregistered(describe(method)))


def has_third_party_code(run: Run) -> bool:
    """Return whether a run's method, or a module of its network, is third-party."""
    places = (layer.source_module.partition(".")[0] for layer in modules_in(run.architecture))
    return is_third_party(run.method) or any(place not in OURS for place in places)


def third_party_names(description: object) -> set[str]:
    """Return the names in a description of classes and factories that are not of this project."""
    if isinstance(description, Mapping):
        inner = set().union(*map(third_party_names, description.values()))
        if "type" not in description:
            return inner
        name, factory = str(description["type"]), str(description.get("factory"))
        if name == "torch_module" and factory not in FACTORIES:
            inner.add(factory)
        return inner | ({name} if path_of(name) == name else set())
    if isinstance(description, list | tuple):
        return set().union(*map(third_party_names, description))
    return set()


def _unregistered(description: object) -> list[str]:
    """Return the names, "module:Class", of classes that this project has not registered."""
    if isinstance(description, Mapping):
        inner = [name for value in description.values() for name in _unregistered(value)]
        kind = description.get("type")
        return [kind, *inner] if isinstance(kind, str) and ":" in kind else inner
    if isinstance(description, list):
        return [name for value in description for name in _unregistered(value)]
    return []


@dataclass(frozen=True)
class ScoredElsewhere:
    """A method, by the name given with its predictions."""

    name: str

    def fit(self, problem: Problem, rng: torch.Generator) -> NoReturn:
        """Raise `Unsupported`: the method is not available."""
        raise Unsupported(
            f"{self.name} is a method of another program: score its predictions with "
            "`bnnbench score`"
        )
