"""The encoding of a text file, by its first bytes or by what it decodes in."""

import codecs
import io
from typing import IO

from bnnbench.datasets.own.notes import Note
from bnnbench.datasets.reading.columns import BadTable

Bytes = IO[bytes] | io.BufferedIOBase
"""An open file, or bytes in its place."""
BLOCK = 2**18
"""Bytes read at a time."""
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""First bytes of a file → its encoding, in the order in which they are tried."""
NAMES = {"cp1252": "Windows-1252 (Latin-1)", "latin-1": "Latin-1", "utf-32": "UTF-32"}


def encoding_of(file: Bytes, title: str) -> str:
    """Return the encoding of a text file; raises `BadTable` for a file that is no text."""
    head = file.read(BLOCK)
    for mark, encoding in MARKS:
        if head.startswith(mark):
            return encoding
    if b"\0" in head:
        return _of_two_bytes(head, title)
    if _decodes(file, head, "utf-8"):
        return "utf-8"
    return "cp1252" if _decodes(file, head, "cp1252") else "latin-1"


def notes_on(encoding: str, title: str) -> tuple[Note, ...]:
    """Return a note on any encoding but UTF-8."""
    if encoding in ("utf-8", "utf-8-sig"):
        return ()
    name = NAMES.get(encoding, "UTF-16")
    cause = f"{title} is not UTF-8 text: save it as UTF-8"
    return (Note(f"the file is not UTF-8 text, and is read as {name}", cause),)


def _of_two_bytes(head: bytes, title: str) -> str:
    """Return the byte order of UTF-16 without a mark: most characters have an upper byte of 0."""
    for upper, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros, others = head[upper::2].count(0), head[1 - upper :: 2].count(0)
        if zeros > len(head) / 4 and not others:
            return encoding
    raise BadTable(f"{title} is not a text file, nor of another kind that is read")


def _decodes(file: Bytes, head: bytes, encoding: str) -> bool:
    """Return whether a file that begins with `head` is text in an encoding."""
    decoder = codecs.getincrementaldecoder(encoding)()
    file.seek(len(head))
    block = head
    try:
        while block:
            decoder.decode(block)
            block = file.read(BLOCK)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
