"""Whether a value fits the annotation of its field, so that a file cannot put another there."""

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import AbstractArray


def fits(value: object, hint: Any) -> bool:
    """Return whether a value is of an annotated type; True for types that cannot be checked."""
    if hint is Any:
        return True
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return fits(value, arguments[0])
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, one) for one in arguments)
    if origin is Literal:
        return any(value == one and type(value) is type(one) for one in arguments)
    if isinstance(origin, type):
        return _fits_generic(value, origin, arguments)
    if hint is None:
        return value is None
    return _fits_class(value, hint) if isinstance(hint, type) else True


def hints_of(kind: Any) -> Mapping[str, Any]:
    """Return the annotations of a dataclass, or of the arguments of another class."""
    plain = dataclasses.is_dataclass(kind)
    try:
        return typing.get_type_hints(kind if plain else kind.__init__)
    except (NameError, TypeError, AttributeError):  # names that only type checkers import
        return {}


def _fits_generic(value: object, origin: type, arguments: tuple[Any, ...]) -> bool:
    if origin is type or issubclass(origin, Callable):  # pyright: ignore[reportArgumentType]
        return callable(value)
    if not isinstance(value, origin) or isinstance(value, str):
        return False
    if isinstance(value, Mapping):
        return all(fits(k, arguments[0]) and fits(v, arguments[1]) for k, v in value.items())
    if not isinstance(value, Sequence) or not arguments:
        return True
    if origin is not tuple or arguments[-1] is Ellipsis:
        return all(fits(one, arguments[0]) for one in value)
    return len(value) == len(arguments) and all(map(fits, value, arguments))


def _fits_class(value: object, hint: type) -> bool:
    if issubclass(hint, AbstractArray):
        return isinstance(value, hint)
    if hint in (int, float):
        numbers = (int, np.integer) if hint is int else (int, float, np.number)
        return isinstance(value, numbers) and not isinstance(value, bool)
    if getattr(hint, "_is_protocol", False):
        return all(_has(value, name) for name in _members(hint))
    return isinstance(value, hint)


def _has(value: object, name: str) -> bool:
    return name in getattr(value, "__dict__", {}) or hasattr(type(value), name)


def _members(protocol: type) -> list[str]:
    classes = [one for one in inspect.getmro(protocol) if getattr(one, "_is_protocol", False)]
    spaces = [space for one in classes for space in (vars(one), inspect.get_annotations(one))]
    return [name for space in spaces for name in space if not name.startswith("_")]
