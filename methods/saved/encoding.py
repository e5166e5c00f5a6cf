"""A posterior as a description of plain values, with its arrays and estimators beside it."""

import dataclasses
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bnnbench.methods.saved.arrays import Collected
from bnnbench.methods.saved.errors import NotSaved
from bnnbench.methods.saved.registry import function_name, is_built, is_registered, name_of

Node = Any
"""A value of JSON: None, bool, int, float, str, a list, or an object with one of the keys below."""


@dataclass
class Encoder:
    """Turns values into nodes, and collects what is no text."""

    collected: Collected = field(default_factory=Collected)
    estimators: list[Any] = field(default_factory=list)

    def node(self, value: Any, path: str = "") -> Node:
        """Return the description of a value; `path` names it in errors, and its arrays."""
        if value is None or type(value) in (bool, int, str):
            return value
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"float": str(float(value))}
        if isinstance(value, Tensor | np.ndarray):
            return self.collected.add(value, path)
        if isinstance(value, np.generic):
            return {"scalar": self.collected.add(np.asarray(value), path)}
        if isinstance(value, torch.dtype | torch.device):
            return {type(value).__name__: str(value).removeprefix("torch.")}
        if type(value) in (list, tuple, torch.Size):
            nodes = [self.node(one, _inside(path, place)) for place, one in enumerate(value)]
            return nodes if type(value) is list else {"tuple": nodes}
        if isinstance(value, Mapping):
            return {"mapping": [self._pair(*pair, path) for pair in value.items()]}
        return self._object(value, path)

    def _pair(self, key: Any, value: Any, path: str) -> Node:
        return [self.node(key, f"{path}.key"), self.node(value, _inside(path, key))]

    def _object(self, value: Any, path: str) -> Node:
        if name := function_name(value):
            return {"function": name}
        if reason := getattr(value, "not_saved", ""):
            raise NotSaved(f"{path or 'the posterior'}: {reason}")
        if _is_estimator(value):
            self.estimators.append(value)
            return {"estimator": len(self.estimators) - 1}
        try:
            name = name_of(type(value))
        except NotSaved as error:
            raise NotSaved(f"{path or 'the posterior'}: {error}") from None
        if is_built(name):
            return {"type": name} | self._built(value, path)
        if not is_registered(name):
            _require_fields_alone(value, path)
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return {
            "type": name,
            "fields": {key: self.node(one, _inside(path, key)) for key, one in fields.items()},
        }

    def _built(self, value: Any, path: str) -> dict[str, Node]:
        nodes = [self.node(one, _inside(path, place)) for place, one in enumerate(value.arguments)]
        if not isinstance(value, nn.Module):
            return {"arguments": nodes}
        state = value.state_dict().items()
        return {
            "arguments": nodes,
            "state": {name: self.node(tensor, _inside(path, name)) for name, tensor in state},
        }


def _is_estimator(value: object) -> bool:
    base = sys.modules.get("sklearn.base")
    return base is not None and isinstance(value, base.BaseEstimator)


def _require_fields_alone(value: Any, path: str) -> None:
    """Raise `NotSaved` if another's object has attributes besides its fields."""
    fields = {f.name for f in dataclasses.fields(value) if f.init}
    if others := vars(value).keys() - fields:
        raise NotSaved(
            f"{path or 'the posterior'}: {type(value).__name__} has attributes that are no fields "
            f"({', '.join(sorted(others))}): compute them when they are needed, or make them fields"
        )


def _inside(path: str, name: object) -> str:
    return f"{path}.{name}".lstrip(".")
