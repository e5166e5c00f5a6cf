"""Names of a source's features and classes, if its files or its publisher give them."""

from typing import Any


def feature_names(source: Any, features: int) -> tuple[str, ...]:
    """Return the names of this many features; if unknown, "x0", "x1" and so on."""
    names = _of(source, "feature_names")
    return names if len(names) == features else tuple(f"x{place}" for place in range(features))


def class_names(source: Any, classes: int) -> tuple[str, ...]:
    """Return the names of this many classes; if unknown, their numbers."""
    names = _of(source, "labels")
    return names if len(names) == classes else tuple(map(str, range(classes)))


def _of(source: Any, attribute: str) -> tuple[str, ...]:
    """Return the names that a source, or the source it is cut from, gives."""
    if (names := getattr(source, attribute, None)) is not None:
        return tuple(names)
    inner = getattr(source, "source", None)
    return () if inner is None else _of(inner, attribute)
