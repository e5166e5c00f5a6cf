"""Third-party names and messages, made safe for a terminal and a spreadsheet."""

import unicodedata
from typing import Any

HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode's categories of controls, formats, surrogates and line separators."""

FORMULA = ("=", "+", "-", "@")
"""Beginnings of a text that a spreadsheet would take for a formula."""


def legible(text: object) -> str:
    r"""Return text in one line, without control sequences for the terminal.

    Control characters appear as \x1b or \n, undecodable bytes as \xff.
    """
    shown = str(text)
    if shown.isprintable():  # the usual case
        return shown
    return "".join(_escaped(c) if unicodedata.category(c) in HIDDEN else c for c in shown)


def cell(value: Any) -> Any:
    """Return a value for a CSV file: text without control characters, formulas quoted."""
    if not isinstance(value, str):
        return value
    return f"'{legible(value)}" if value.startswith(FORMULA) else legible(value)


def shortened(text: str, most: int) -> str:
    """Return a text cut to about `most` characters: its beginning and end, where reasons stand."""
    if len(text) <= most:
        return text
    half = most // 2
    left_out = f"[{len(text) - 2 * half:,} characters are left out here]"
    return f"{text[:half]}\n{left_out}\n{text[-half:]}"


def _escaped(character: str) -> str:
    byte = ord(character) - 0xDC00  # set by os.fsdecode
    if 0x80 <= byte <= 0xFF:
        return f"\\x{byte:02x}"
    return character.encode("unicode_escape").decode()
