"""The Python code that fits a method with the settings of a record."""

import dataclasses
import textwrap
from collections.abc import Mapping

from bnnbench.engine.declare.description import describe, implied_by
from bnnbench.engine.declare.names import kind_of, path_of
from bnnbench.engine.method_settings.labels import default_of

WIDTH = 84
"""Maximum columns of a line of code; longer calls continue on separate lines."""

NUMBERS = ("inf", "-inf", "nan")
"""Numbers stored as text in a description."""


def snippet(description: object) -> str:
    """Return the code that constructs and fits a method and predicts; "" if its classes are absent.

    Classes of other projects are not imported.

    Settings with default values are omitted. The reader supplies `problem`, `rng` and `inputs`.
    """
    imports: dict[str, set[str]] = {}
    try:
        written = _written(description, imports, len("method = "), "")
    except (ImportError, AttributeError):
        return ""
    if not imports:
        return ""
    lines = (f"from {m} import {', '.join(sorted(imports[m]))}" for m in sorted(imports))
    return "\n".join(
        [
            *lines,
            "",
            f"method = {written}",
            "posterior = method.fit(problem, rng)",
            "prediction = posterior.predict(inputs, rng)",
        ]
    )


def _written(value: object, imports: dict[str, set[str]], before: int, indent: str) -> str:
    """Return the expression of described settings; `before` is the column at which it begins."""
    if isinstance(value, Mapping) and "type" in value:
        kind = _of_this_project(str(value["type"]))
        imports.setdefault(kind.__module__, set()).add(kind.__name__)
        items = _arguments(kind, value)
        opening, closing = f"{kind.__name__}(", ")"
    elif isinstance(value, Mapping):
        items = [(f"{name!r}: ", item) for name, item in value.items()]
        opening, closing = "{", "}"
    elif isinstance(value, list | tuple):
        items = [("", item) for item in value]
        opening, closing = "(", ",)" if len(items) == 1 else ")"
    elif isinstance(value, str) and value in NUMBERS:
        return f'float("{value}")'
    else:
        return repr(value)
    inner = f"{indent}    "
    parts = [head + _written(item, imports, len(inner) + len(head), inner) for head, item in items]
    line = f"{opening}{', '.join(parts)}{closing}"
    if before + len(line) <= WIDTH and "\n" not in line:
        return line
    rows = [f"{inner}{part}," for part in parts]
    if all(isinstance(item, int | float) for _, item in items):
        rows = textwrap.wrap(
            f"{', '.join(parts)},", WIDTH, initial_indent=inner, subsequent_indent=inner
        )
    return "\n".join([opening, *rows, f"{indent}{closing[-1]}"])


def _of_this_project(name: str) -> type:
    """Return the class of a registered name; ImportError for a class outside this project."""
    if path_of(name) == name:
        raise ImportError(f"{name} is not a class of this project")
    return kind_of(name)


def _arguments(kind: type, described: Mapping[str, object]) -> list[tuple[str, object]]:
    """Return the arguments in a description, without default values."""
    meant = {name: describe(value) for name, value in implied_by(kind).items()} | dict(described)
    fields = [f for f in dataclasses.fields(kind) if f.init and f.name in meant]
    return [(f"{f.name}=", meant[f.name]) for f in fields if not _is_default(f, meant[f.name])]


def _is_default(field: "dataclasses.Field[object]", described: object) -> bool:
    default = default_of(field)
    return default is not dataclasses.MISSING and describe(default) == described
