"""Methods with settings as text: `ensemble(size=3, member=adamw(epochs=5))`.

A setting's value is a Python literal, a method or other registered class with its own settings,
or a tuple of these. Nothing is evaluated. A semicolon separates like a comma, so that a label,
which contains no commas, can be passed to the command line.
"""

import ast
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bnnbench.wording import UsageError

OPENING, CLOSING = "([{", ")]}"
QUOTES = "'\""

DEEPEST = 100
"""Maximum nesting of brackets."""

NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""Numbers that Python has no literals for."""


class Misspelt(UsageError):
    """A text that is not a method with settings; the message names the remedy."""


@dataclass(frozen=True)
class Spelled:
    """A name and settings: path of a setting → literal, `Spelled`, or a tuple of these."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)


def parts(text: str, separators: str = ",", inside: bool = False) -> list[str]:
    """Return the parts of a text between separators that are outside brackets and quotes.

    Parts are stripped, and empty ones dropped. Outside brackets, a quote is an ordinary
    character unless `inside`. Raises `Misspelt` for unbalanced brackets or quotes.
    """
    places = _depths(text, inside)
    cuts = [-1, *(i for i, depth in places if not depth and text[i] in separators)]
    pieces = [text[a + 1 : b] for a, b in zip(cuts, [*cuts[1:], len(text)], strict=True)]
    return [piece.strip() for piece in pieces if piece.strip()]


def parsed(text: str) -> Spelled:
    """Return the name and settings in a text such as `ivon(epochs=200)` or `ivon`.

    Raises `Misspelt`.
    """
    _check_brackets(text)
    name, inside = _name_and_inside(text.strip())
    settings: dict[str, Any] = {}
    for part in parts(inside, ",;", inside=True):
        path, equals, value = part.partition("=")
        path = path.strip()
        if not equals or not all(name.isidentifier() for name in path.split(".")):
            raise Misspelt(f"{name}: needed settings such as epochs=200; got {part}")
        if path in settings:
            raise Misspelt(f"{name}: {path} is given twice")
        settings[path] = _value(value.strip(), f"{name}: {path}")
    return Spelled(name, settings)


def _value(text: str, title: str) -> Any:
    """Return a literal, `Spelled`, or a tuple of these; messages start with `title`."""
    if text in NUMBERS:
        return NUMBERS[text]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        pass
    else:
        return tuple(value) if isinstance(value, list) else value
    if not text:
        raise Misspelt(f"{title} has no value")
    if text[0] in "([" and _opening(text) == 0:
        return tuple(_value(part, title) for part in parts(text[1:-1], ",;", inside=True))
    if any(character in text.partition("(")[0] for character in "\"'[]{}=,;)"):
        raise Misspelt(
            f"{title}: needed a Python literal, such as 0.3, 'cosine' or (1, 2), or a name with "
            f"settings, such as adamw(epochs=5); got {text}"
        )
    return parsed(text)


def _name_and_inside(text: str) -> tuple[str, str]:
    """Return "a" and "b" for "a(b)"; the text and "" if it does not end in brackets."""
    start = _opening(text) if text.endswith(")") else None
    if start is None:
        return text, ""
    if not text[:start].strip():
        raise Misspelt(f"needed a name before {text}")
    return text[:start].strip(), text[start + 1 : -1]


def _opening(text: str) -> int | None:
    """Return the position of the bracket that the last character of a text closes."""
    places = [i for i, depth in _depths(text) if depth == 1 and text[i] in OPENING]
    return places[-1] if places and text[-1] in CLOSING else None


def _check_brackets(text: str) -> None:
    """Raise `Misspelt` for unbalanced or too deeply nested brackets."""
    if max((depth for _, depth in _depths(text)), default=0) > DEEPEST:
        raise Misspelt(f"{text[:40]}...: brackets are nested more than {DEEPEST} levels deep")


def _depths(text: str, inside: bool = False) -> Iterator[tuple[int, int]]:
    """Yield position and bracket depth of each character outside quotes.

    A bracket has the depth of its contents. Outside brackets, quotes count only if `inside`.
    """
    stack: list[str] = []
    quote = ""
    escaped = False
    for i, character in enumerate(text):
        if quote:
            quote = "" if character == quote and not escaped else quote
            escaped = character == "\\" and not escaped
            continue
        if character in QUOTES and (stack or inside):
            quote = character
            continue
        if character in OPENING:
            stack.append(CLOSING[OPENING.index(character)])
        yield i, len(stack)
        if character in CLOSING and (not stack or stack.pop() != character):
            raise Misspelt(f"unmatched bracket {character} in {text}")
    if quote or stack:
        raise Misspelt(f"{quote or stack[-1]} is missing at the end of {text}")
