"""Instances with settings from the command line, checked by fields and types."""

import contextlib
import dataclasses
import sys
import types
import typing
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bnnbench.engine.declare.names import name_of
from bnnbench.engine.method_settings.expressions import Spelled, parsed
from bnnbench.engine.method_settings.registry import class_of
from bnnbench.engine.method_settings.spelling import check_name
from bnnbench.wording import UsageError, listed

SCALARS: Mapping[type, str] = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a text in quotes",
    types.NoneType: "None",
}


def constructed(kind: type, settings: Mapping[str, Any]) -> Any:
    """Return an instance of a dataclass with `settings` by path and defaults for the rest.

    Raises UsageError for a setting that does not exist, has another type, or is refused by the
    class.
    """
    if not dataclasses.is_dataclass(kind):
        if settings:
            raise UsageError(f"{_name(kind)} takes no settings: it is not a dataclass")
        return _called(kind, {})
    direct, inner = _direct(kind, settings), _inner(kind, settings)
    required = {
        f.name for f in _fields(kind).values()
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    }  # fmt: skip
    if lacking := sorted(required - direct.keys()):
        examples = ", ".join(f"{name}=..." for name in lacking)
        raise UsageError(f"cannot construct {_name(kind)}: write {_name(kind)}({examples})")
    return changed(_called(kind, direct), inner) if inner else _called(kind, direct)


def changed(value: Any, settings: Mapping[str, Any]) -> Any:
    """Return the dataclass instance with these settings changed, by path; as in `constructed`."""
    kind = type(value)
    if not dataclasses.is_dataclass(value):
        raise UsageError(f"{value!r} has no settings, such as {next(iter(settings))}")
    direct = _direct(kind, settings)
    for path, below in _grouped(_inner(kind, settings)).items():
        direct[path] = changed(direct.get(path, getattr(value, path)), below)
    if not direct:
        return value
    current = {name: getattr(value, name) for name in _fields(kind)}
    return _called(kind, current | direct)


def fields_of(kind: type) -> list["dataclasses.Field[Any]"]:
    """Return the settings of a dataclass; none for other classes."""
    return list(_fields(kind).values())


def types_of(kind: type) -> Mapping[str, Any]:
    """Return the type of each setting whose annotation can be resolved."""
    try:
        return typing.get_type_hints(kind)
    except Exception:  # a name imported only for type checkers
        return {f.name: hint for f in fields_of(kind) for hint in _readable(f, kind)}


def _readable(field: "dataclasses.Field[Any]", kind: type) -> Iterator[Any]:
    """Yield a field's type, or nothing if its annotation cannot be resolved."""
    alone = types.SimpleNamespace(__annotations__={field.name: field.type})
    with contextlib.suppress(Exception):
        yield typing.get_type_hints(alone, vars(sys.modules[kind.__module__]))[field.name]


def needed(hint: Any) -> str:
    """Describe the values of a type: "a number", "one of 'full' or 'diagonal'"."""
    return listed(dict.fromkeys(map(_description, _alternatives(hint))), "or")


def _fields(kind: Any) -> dict[str, "dataclasses.Field[Any]"]:
    return {f.name: f for f in dataclasses.fields(kind) if f.init}


def _direct(kind: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the class itself, converted to the types of its fields."""
    hints = types_of(kind)
    converted = {}
    for path, value in settings.items():
        check_name(_name(kind), path.partition(".")[0], list(_fields(kind)))
        if "." not in path:
            title = f"{_name(kind)}: {path}"
            converted[path] = _converted(value, hints.get(path, Any), title)
    return converted


def _inner(kind: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {path: value for path, value in settings.items() if "." in path}


def _grouped(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the nested form of dotted settings: {"a": {"b": 1}} for {"a.b": 1}."""
    groups: dict[str, dict[str, Any]] = {}
    for path, value in settings.items():
        head, _, rest = path.partition(".")
        groups.setdefault(head, {})[rest] = value
    return groups


def _called(kind: type, settings: Mapping[str, Any]) -> Any:
    try:
        return kind(**settings)
    except (Exception, SystemExit) as error:  # a class may raise anything for its settings
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise UsageError(f"cannot construct {_name(kind)}: {reason}") from error


def _converted(value: Any, hint: Any, title: str) -> Any:
    """Return a value converted to its setting's type. Raises UsageError if it has another type."""
    for alternative in _alternatives(hint):
        fitting = list(_fitting(value, alternative, title))
        if fitting:
            return fitting[0]
    kinds = _alternatives(hint)
    cure = ""
    if isinstance(value, Spelled) and not value.settings:
        if any(typing.get_origin(kind) is typing.Literal or kind is str for kind in kinds):
            cure = f": write {value.name!r} in quotes"
    elif any(map(_is_sequence, kinds)):
        cure = ": write a tuple, as in (1,)"
    raise UsageError(f"{title}: needed {needed(hint)}; got {_shown(value)}{cure}")


def _fitting(value: Any, hint: Any, title: str) -> Iterator[Any]:
    """Yield the value converted to a setting's type, or nothing if it has another type."""
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        if any(value == one and type(value) is type(one) for one in typing.get_args(hint)):
            yield value
    elif hint in SCALARS:
        if type(value) is hint:
            yield value
        elif hint is float and type(value) is int:
            yield float(value)  # 1 and 1.0 are the same setting with the same key
    elif _is_sequence(hint):
        if isinstance(value, tuple):
            yield tuple(_elements(value, hint, title))
    elif _is_instance_wanted(hint):
        instance = _instance(value, title)
        if _is_a(instance, hint):
            yield instance
    else:  # a type that cannot be checked here
        yield _instance(value, title) if isinstance(value, Spelled) else value


def _elements(values: Sequence[Any], hint: Any, title: str) -> Iterator[Any]:
    arguments = typing.get_args(hint)
    if not arguments:
        arguments = (Any, ...)
    if len(arguments) == 1 or arguments[-1] is Ellipsis:
        arguments = (arguments[0],) * len(values)
    if len(arguments) != len(values):
        raise UsageError(f"{title}: needed {len(arguments)} values; got {len(values)}")
    for value, wanted in zip(values, arguments, strict=True):
        yield _converted(value, wanted, title)


def _instance(value: Any, title: str) -> Any:
    """Return the instance for a name with settings, which a string from a file may also contain."""
    try:
        value = parsed(value) if isinstance(value, str) else value
        if not isinstance(value, Spelled):
            return value
        return constructed(class_of(value.name), value.settings)
    except UsageError as error:
        raise UsageError(f"{title}: {error}") from error


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """Return the types of a union, None last; any other type as the only one."""
    if typing.get_origin(hint) is typing.Annotated:
        return _alternatives(typing.get_args(hint)[0])
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        single = [one for part in typing.get_args(hint) for one in _alternatives(part)]
        return tuple(sorted(single, key=lambda one: one is types.NoneType))
    return (hint,)


def _is_sequence(hint: Any) -> bool:
    kind = typing.get_origin(hint) or hint
    return kind in (tuple, list, Sequence, Collection, Iterable)


def _is_instance_wanted(hint: Any) -> bool:
    return isinstance(hint, type) and (
        dataclasses.is_dataclass(hint) or getattr(hint, "_is_protocol", False)
    )


def _is_a(value: Any, hint: type) -> bool:
    if not dataclasses.is_dataclass(value):
        return False
    try:
        return isinstance(value, hint)
    except TypeError:  # a protocol that cannot be checked at run time
        return True


def _description(hint: Any) -> str:
    if typing.get_origin(hint) is typing.Literal:
        choices = [repr(choice) for choice in typing.get_args(hint)]
        return listed(choices, "or") if len(choices) > 1 else choices[0]
    if hint in SCALARS:
        return SCALARS[hint]
    if _is_sequence(hint):
        inner = [a for a in typing.get_args(hint) if a is not Ellipsis]
        elements = listed(dict.fromkeys(map(needed, inner)), "or") if inner else ""
        return f"a tuple ({elements}, ...)" if elements else "a tuple"
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return f"{_name(hint)}(...)"
    if hasattr(hint, "fit"):
        return "a method, such as adamw(...)"
    return f"a {hint.__name__}" if isinstance(hint, type) else "any value"


def _shown(value: Any) -> str:
    if isinstance(value, Spelled):
        return f"{value.name}(...)" if value.settings else value.name
    return repr(value)


def _name(kind: type) -> str:
    try:
        return name_of(kind)
    except TypeError:
        return kind.__name__
