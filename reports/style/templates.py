"""Helpers for the templates of all pages: escaped text, joined files, a script's digest."""

import base64
import functools
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def environment_in(folder: Path) -> Environment:
    """Return an environment for the templates of a folder; all text is escaped."""
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@functools.cache
def joined_files(*paths: Path) -> str:
    """Return the texts of files, one after another."""
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@functools.cache
def digest_of(script: str) -> str:
    """Return the base64 SHA-256 of a script, with which a page's policy allows it."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
