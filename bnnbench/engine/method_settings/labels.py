"""Labels of methods with changed settings: `AdamW (epochs=80; learning_rate=0.3)`.

A label lists the differences from the method that its name stands for, in the order of the class.
It contains no commas and, passed to the command line, stands for the same method.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from bnnbench.engine.declare.description import canonical_json, describe
from bnnbench.engine.declare.names import name_of
from bnnbench.engine.method_settings.settings import fields_of


def with_differences(label: str, differing: Mapping[str, Any]) -> str:
    """Return the label with the settings that differ, by path; only the label if none differ."""
    settings = "; ".join(f"{path}={shown(value)}" for path, value in differing.items())
    return f"{label} ({settings})" if settings else label


def differences(value: Any, base: Any = None) -> dict[str, Any]:
    """Return path → value of the settings in which an instance differs from another of its class.

    If there is no other, it is compared with the defaults of its class.
    """
    return dict(_differences(value, base))


def default_of(field: "dataclasses.Field[Any]") -> Any:
    """Return the default of a setting; `dataclasses.MISSING` if absent."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def shown(value: Any) -> str:
    """Return a setting's value in the command line's syntax, with semicolons for commas."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        settings = [f"{path}={shown(inner)}" for path, inner in _differences(value, None)]
        name = name_of(type(value))
        return f"{name}({'; '.join(settings)})" if settings else name
    if isinstance(value, tuple):
        return f"({'; '.join(map(shown, value))}{';' if len(value) == 1 else ''})"
    return repr(value).replace(",", ";")


def _differences(value: Any, base: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for field in fields_of(type(value)):
        new = getattr(value, field.name)
        old = default_of(field) if base is None else getattr(base, field.name)
        if old is not dataclasses.MISSING and _same(new, old):
            continue
        if dataclasses.is_dataclass(new) and type(new) is type(old):
            yield from _differences(new, old, f"{path}{field.name}.")
        else:
            yield f"{path}{field.name}", new


def _same(one: Any, other: Any) -> bool:
    return canonical_json(describe(one)) == canonical_json(describe(other))
