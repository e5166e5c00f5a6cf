"""The text of `posterior.json`: its digest, its version, and its limits."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from bnnbench.methods.saved.errors import NotLoaded

FORMAT = 1
"""The version of the format; files of a later one are refused."""
LONGEST = 2**26
"""Maximum bytes of a description."""
DIGEST = "sha256"


def written(content: Mapping[str, Any]) -> bytes:
    """Return the text of a description, with the digest of the rest at its end."""
    whole = {"format": FORMAT, **content}
    return json.dumps(whole | {DIGEST: _digest(whole)}, indent=1).encode()


def read(text: bytes) -> dict[str, Any]:
    """Return a description.

    Raises `NotLoaded` for a newer format, and for a text that differs from what was written.
    """
    try:
        content = json.loads(text, object_pairs_hook=_object, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise NotLoaded(f"it is no JSON: {error}") from error
    if not isinstance(content, dict) or type(content.get("format")) is not int:
        raise NotLoaded("it states no version of the format")
    if content["format"] > FORMAT:
        raise NotLoaded(
            f"it has version {content['format']} of the format, and this bnnbench reads up to "
            f"{FORMAT}: pip install -U bnnbench"
        )
    digest = content.pop(DIGEST, None)
    if digest != _digest(content):
        raise NotLoaded("its content has another digest than it states: it was changed or damaged")
    return content


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(made := dict(pairs)) < len(pairs):
        raise ValueError("a name occurs twice in an object")
    return made


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")
