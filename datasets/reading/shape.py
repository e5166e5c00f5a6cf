"""Validation of data from a file against the annotations of a class.

The annotations are the schema: `Mapping[str, float]` is a mapping of names to numbers. `object` and
`Any` are plain data of any shape. `Annotated[Mapping[str, Any], Kind]` is the plain data of `Kind`,
a dataclass or a TypedDict; fields it does not name come from a later version and may be any plain
data.
"""

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, Union

LONGEST_TEXT = 10_000
"""Maximum length of a text that is not a `Message`; names and settings are shorter."""

DEEPEST = 40
"""Maximum nesting of plain data."""

LARGEST_INT = 2**64

LONGEST_PLACE = 40
"""Maximum number of characters of a name or text quoted in a message."""

Message = Annotated[str, "of any length"]
"""A text for people, such as a traceback."""

Amount = Annotated[float, -1e18, 1e18]
"""A number of seconds, bytes or joules."""

Check = Callable[[Any], bool]


def faults(value: object, kind: type) -> Iterator[str]:
    """Return the names of a dataclass instance's fields that violate their annotations."""
    yield from (n for n, check in checks_of(kind).items() if not check(getattr(value, n)))


def checks_of(kind: type) -> Mapping[str, Check]:
    """Return field → the function that returns whether a value matches its annotation."""
    return _fields(kind)[0]


def conforms(value: object, kind: type) -> bool:
    """Return whether plain data match a dataclass or a TypedDict."""
    return _described(kind)(value)


@functools.cache
def _fields(kind: type) -> tuple[dict[str, Check], frozenset[str]]:
    """Return field → its check, and the required fields."""
    hints = typing.get_type_hints(kind, include_extras=True)
    if dataclasses.is_dataclass(kind):
        fields = dataclasses.fields(kind)
        hints = {field.name: hints[field.name] for field in fields}
        lacking = dataclasses.MISSING
        required = {f.name for f in fields if f.default is f.default_factory is lacking}
    else:
        required = kind.__required_keys__
    return {name: _check(hint) for name, hint in hints.items()}, frozenset(required)


def misfits(value: object, place: str, level: int = 0) -> Iterator[str]:
    """Yield place and reason for the parts of plain data that no file may have."""
    if isinstance(value, str):
        yield from (f"{place}: {reason}" for reason in _misfits_of_text(value))
    elif isinstance(value, int) and abs(value) > LARGEST_INT:
        yield f"{place}: a whole number of {value.bit_length()} bits, larger than 2**64"
    elif isinstance(value, (Mapping, list, tuple)) and level == DEEPEST:
        yield f"{place}: nested more than {DEEPEST} levels deep"
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from (f"{place}: its name is {r}" for r in _misfits_of_text(str(name)))
            yield from misfits(item, f"{place}.{str(name)[:LONGEST_PLACE]}", level + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from misfits(item, place, level + 1)


def _misfits_of_text(text: str) -> Iterator[str]:
    if len(text) > LONGEST_TEXT:
        yield f"a text of {len(text):,} characters, more than {LONGEST_TEXT:,}"
    if any("\ud800" <= character <= "\udfff" for character in text):
        yield f"text with half a character (a lone surrogate), {text[:LONGEST_PLACE]!a}"


def _described(kind: type) -> Check:
    checks, required = _fields(kind)

    def check(value: Any) -> bool:
        return (
            (type(value) is dict or isinstance(value, Mapping))
            and required <= value.keys()
            and all(_is_text(n) and checks.get(n, _is_plain)(item) for n, item in value.items())
        )

    return check


def _check(hint: Any) -> Check:
    """Return the check of one annotation."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if origin is Annotated:
        return _annotated(hint)
    if origin is NotRequired:
        return _check(arguments[0])
    if origin is Literal:
        return lambda value: isinstance(value, str) and value in arguments
    if origin in (Union, types.UnionType):
        choices = [_check(argument) for argument in arguments]
        return lambda value: any(check(value) for check in choices)
    if origin is tuple or origin is Sequence:
        item = _check(arguments[0])
        return lambda value: isinstance(value, (list, tuple)) and all(map(item, value))
    if origin in (Mapping, dict):
        item = _check(arguments[1])
        return lambda value: (
            (type(value) is dict or isinstance(value, Mapping))
            and all(map(_is_text, value))
            and all(map(item, value.values()))
        )
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        described = _described(hint)
        return lambda value: (
            not any(faults(value, hint)) if isinstance(value, hint) else described(value)
        )
    raise TypeError(f"no check for the annotation {hint}")


def _annotated(hint: Any) -> Check:
    if hint == Message:
        return lambda value: isinstance(value, str)
    if hint == Amount:
        low, high = hint.__metadata__
        return lambda value: _is_number(value) and low <= value <= high
    (kind,) = hint.__metadata__
    return _described(kind)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_TEXT


def _is_int(value: object) -> bool:
    return type(value) is int and abs(value) <= LARGEST_INT


def _is_number(value: object) -> bool:
    return isinstance(value, float) or _is_int(value)


def _is_plain(value: Any, level: int = 0) -> bool:
    # Records have millions of values: exact types come first, and a call is saved for each number.
    kind = type(value)
    if kind is str:
        return len(value) <= LONGEST_TEXT
    if kind is float or kind is bool or value is None:
        return True
    if isinstance(value, int):
        return abs(value) <= LARGEST_INT
    if isinstance(value, (str, float)):
        return not isinstance(value, str) or len(value) <= LONGEST_TEXT
    if level == DEEPEST:
        return False
    if kind is dict or isinstance(value, Mapping):
        if not all(map(_is_text, value)):
            return False
        items = value.values()
    elif kind is list or isinstance(value, (list, tuple)):
        items = value
    else:
        return False
    for item in items:  # noqa: SIM110 (`all` takes 1.4 times as long)
        if type(item) is not float and not _is_plain(item, level + 1):
            return False
    return True


_SIMPLE: Mapping[Any, Check] = {
    str: _is_text,
    int: _is_int,
    float: _is_number,
    bool: lambda value: isinstance(value, bool),
    type(None): lambda value: value is None,
    object: _is_plain,
    Any: _is_plain,
}
