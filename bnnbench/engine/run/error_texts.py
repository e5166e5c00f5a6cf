"""Texts of errors, as stored in records."""

import traceback

from bnnbench.datasets.reading.third_party_text import shortened

LONGEST_ERROR = 20_000
"""Maximum number of characters stored; a longer error is shortened in the middle."""


def message(error: BaseException) -> str:
    """Return the text of an error, even if its class cannot be printed."""
    try:
        return _storable(str(error).strip() or type(error).__name__)
    except Exception as second:
        return f"{type(error).__name__}, whose text raises {type(second).__name__}"


def traceback_of(error: BaseException) -> str:
    """Return the traceback of an error, or its message if that fails."""
    try:
        return _storable("".join(traceback.format_exception(error)))
    except Exception:
        return message(error)


def place(error: BaseException) -> str | None:
    """Return file, line and function of the innermost frame; None for an error never raised."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return None
    return f"{frames[-1].filename}, line {frames[-1].lineno}, in {frames[-1].name}"


def _storable(text: str) -> str:
    """Return the text without lone surrogates, which no file can hold, and shortened if long."""
    return shortened(text.encode("utf-8", "backslashreplace").decode(), LONGEST_ERROR)
