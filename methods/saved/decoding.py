"""Values from their descriptions, each checked before it is made."""

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import jaxtyped
from torch import nn

from bnnbench.methods.networks.torch_module import TorchModule
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.saved import checks
from bnnbench.methods.saved.arrays import restored
from bnnbench.methods.saved.encoding import Node
from bnnbench.methods.saved.errors import NotLoaded
from bnnbench.methods.saved.hints import fits, hints_of
from bnnbench.methods.saved.registry import function_of, is_built, is_registered, kind_of

NUMBERS = ("nan", "inf", "-inf")


@dataclass(frozen=True)
class Decoder:
    """Makes values from nodes."""

    arrays: Mapping[str, np.ndarray]
    estimators: Sequence[Any]
    networks: frozenset[str]
    """Factories of a user's own networks that may be called."""

    def value(self, node: Node) -> Any:
        """Return the value of a node; raises `NotLoaded` for a node of no known form."""
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if isinstance(node, list):
            return [self.value(one) for one in node]
        for key, make in self._makers().items():
            if key in node:
                return make(node)
        raise NotLoaded(f"it has a part of an unknown form, with the keys {', '.join(node)}")

    def _makers(self) -> Mapping[str, Callable[[dict[str, Node]], Any]]:
        return {
            "type": self._object,
            "tensor": lambda node: restored(node, self.arrays),
            "array": lambda node: restored(node, self.arrays),
            "tuple": lambda node: tuple(self.value(_list(node, "tuple"))),
            "mapping": self._mapping,
            "float": lambda node: float(_chosen(node["float"], NUMBERS)),
            "scalar": lambda node: self.value(node["scalar"])[()],
            "dtype": lambda node: _dtype(node["dtype"]),
            "device": lambda node: torch.device("cpu"),
            "function": lambda node: function_of(node["function"]),
            "estimator": self._estimator,
        }

    def _mapping(self, node: dict[str, Node]) -> dict[Any, Any]:
        pairs = _list(node, "mapping")
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            raise NotLoaded("it has a mapping whose entries are no pairs")
        return {self.value(key): self.value(value) for key, value in pairs}

    def _estimator(self, node: dict[str, Node]) -> Any:
        number = node["estimator"]
        if type(number) is not int or not 0 <= number < len(self.estimators):
            raise NotLoaded(f"there is no estimator {number!r}")
        return self.estimators[number]

    def _object(self, node: dict[str, Node]) -> Any:
        name = node["type"]
        if not isinstance(name, str):
            raise NotLoaded(f"the type of a part is {name!r}")
        kind = kind_of(name)
        if is_built(name):
            return self._built(name, kind, node)
        values = {key: self.value(one) for key, one in _dict(node, "fields").items()}
        _require_names(name, values, [f.name for f in dataclasses.fields(kind)])
        _require_fitting(name, values, kind)
        if kind is TorchModule:
            checks.require_permitted(values["factory"], self.networks)
        made = _made(name, kind, values) if is_registered(name) else _bare(kind, values)
        _made(name, checks.require_shapes, {"name": name, "value": made})
        return made

    def _built(self, name: str, kind: Any, node: dict[str, Node]) -> Any:
        values = self.value(_list(node, "arguments"))
        parameters = [*inspect.signature(kind).parameters]
        if len(values) > len(parameters):
            raise NotLoaded(f"{name} has {len(values)} arguments; needed {len(parameters)}")
        arguments = dict(zip(parameters, values, strict=False))
        _require_fitting(name, arguments, kind)
        numbers = sum(array.size for array in self.arrays.values())
        checks.require_room(name, arguments, numbers)
        made = _made(name, kind, arguments)
        if isinstance(made, TorchNetwork):
            checks.require_weights(made, numbers)
        if isinstance(made, nn.Module):
            state = {key: self.value(one) for key, one in _dict(node, "state").items()}
            _made(name, made.load_state_dict, {"state_dict": state})
            made.eval()
        return made


def _made(name: str, kind: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    try:
        return kind(**values)
    except (NotLoaded, MemoryError):
        raise
    except Exception as error:  # constructors check their arguments, each in its own way
        raise NotLoaded(f"{name} cannot be made: {str(error).strip()}") from error


def _bare(kind: type, values: Mapping[str, Any]) -> Any:
    """Return an object of another's class with these fields, without running its code."""
    made = object.__new__(kind)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


def _require_names(title: str, given: Mapping[str, Any], needed: Sequence[str]) -> None:
    if lacking := [name for name in needed if name not in given]:
        raise NotLoaded(f"{title} lacks {lacking[0]!r}")
    if strange := [name for name in given if name not in needed]:
        raise NotLoaded(f"{title} has an unknown {strange[0]!r}: a newer bnnbench may know it")


def _require_fitting(title: str, values: Mapping[str, Any], kind: Any) -> None:
    """Raise `NotLoaded` for a value of another kind, or axes that contradict each other."""
    hints = hints_of(kind)
    with jaxtyped("context"):
        for name, value in values.items():
            if not fits(value, hints.get(name, Any)):
                got = type(value).__name__ + str(tuple(getattr(value, "shape", ())) or "")
                raise NotLoaded(f"{name!r} of {title} is of another kind: {got}")


def _list(node: dict[str, Node], key: str) -> list[Node]:
    if not isinstance(node.get(key), list):
        raise NotLoaded(f"{key!r} of a part is no list")
    return node[key]


def _dict(node: dict[str, Node], key: str) -> dict[str, Node]:
    if not isinstance(node.get(key), dict):
        raise NotLoaded(f"a part of the type {node.get('type')} lacks its {key}")
    return node[key]


def _chosen(value: Any, choices: Sequence[str]) -> str:
    if value not in choices:
        raise NotLoaded(f"{value!r} is none of {', '.join(choices)}")
    return value


def _dtype(name: Any) -> torch.dtype:
    kind = vars(torch).get(name) if isinstance(name, str) else None
    if not isinstance(kind, torch.dtype):
        raise NotLoaded(f"there is no type of numbers {name!r}")
    return kind
