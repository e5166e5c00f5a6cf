"""Names and messages of others: what a terminal and a spreadsheet may see of them."""

import unicodedata
from typing import Any

HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode's categories of controls, formats, surrogates and separators of lines."""

FORMULA = ("=", "+", "-", "@")
"""A spreadsheet takes a text that begins so for a formula."""


def legible(text: object) -> str:
    r"""Return text in one line that steers no terminal.

    Control characters show as \x1b or \n, bytes that are not characters as \xff.
    """
    shown = str(text)
    if shown.isprintable():  # as nearly all are
        return shown
    return "".join(_escaped(c) if unicodedata.category(c) in HIDDEN else c for c in shown)


def cell(value: Any) -> Any:
    """Return a value for a CSV file: text is legible, and what looks like a formula is quoted."""
    if not isinstance(value, str):
        return value
    return f"'{legible(value)}" if value.startswith(FORMULA) else legible(value)


def shortened(text: str, most: int) -> str:
    """Return a text of some `most` characters: its beginning and its end, where reasons stand."""
    if len(text) <= most:
        return text
    half = most // 2
    left_out = f"[{len(text) - 2 * half:,} characters are left out here]"
    return f"{text[:half]}\n{left_out}\n{text[-half:]}"


def _escaped(character: str) -> str:
    byte = ord(character) - 0xDC00  # os.fsdecode puts it there
    if 0x80 <= byte <= 0xFF:
        return f"\\x{byte:02x}"
    return character.encode("unicode_escape").decode()
