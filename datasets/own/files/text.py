"""Text files as tables: csv and its relatives, in any encoding, which may be packed."""

import codecs
import io
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import pandas as pd

from bnnbench.datasets.own.files.layout import Layout, layout_of
from bnnbench.datasets.own.files.written import LEADING_ZERO, settled
from bnnbench.datasets.own.notes import Note, Sheet
from bnnbench.datasets.reading.bounded import PACKED, unpacked_text
from bnnbench.datasets.reading.columns import BadTable
from bnnbench.datasets.reading.whole_files import open_regular, read_regular

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


SAMPLE = 2**18
"""Bytes by which a layout is recognised."""
UNREAD = (".zst", ".tar", ".tgz", ".7z")
"""Endings of packed files that are not read."""


def read_text(file: Path, texts: Sequence[str] = ()) -> Sheet:
    """Return the table of a text file; the columns `texts` are not read as numbers.

    A file packed by gzip, bzip2, xz or zip is recognised by its ending.
    """
    suffix = file.suffix.lower()
    if suffix in UNREAD:
        raise BadTable(f"{file} is packed in a way that is not read: unpack it, or use gzip")
    if suffix in PACKED:
        with io.BytesIO(unpacked_text(read_regular(file), suffix)) as content:
            return _sheet(content, str(file), texts)
    with open_regular(file) as content:
        return _sheet(content, str(file), texts)


def _sheet(content: Bytes, title: str, texts: Sequence[str]) -> Sheet:
    encoding = encoding_of(content, title)
    layout = layout_of(_head(content, encoding), title)
    content.seek(0)
    frame = _frame(content, encoding, layout, dtype=dict.fromkeys(texts, "str"))
    sheet = Sheet(frame, (*notes_on(encoding, title), *layout.notes), layout.separator)

    def written(names: Sequence[str]) -> pd.DataFrame:
        content.seek(0)
        return _frame(
            content,
            encoding,
            layout,
            usecols=lambda name: str(name).strip() in names,
            dtype=str,
            keep_default_na=False,
            na_values=[""],
        )

    return settled(sheet, written, texts, _have_zeros(content))


def _have_zeros(content: Bytes) -> bool:
    """Return whether any digits of a file begin with a zero."""
    content.seek(0)
    end = b"\n"
    while block := content.read(SAMPLE):
        if LEADING_ZERO.search(end + block):
            return True
        end = block[-4:]
    return False


def _head(content: Bytes, encoding: str) -> str:
    """Return the first lines of a file; the last one may be cut where the file is longer."""
    content.seek(0)
    head = content.read(SAMPLE)
    text = head.decode(encoding, errors="ignore")
    return text[: text.rfind("\n") + 1] if len(head) == SAMPLE and "\n" in text else text


def _frame(content: Bytes, encoding: str, layout: Layout, **options: Any) -> pd.DataFrame:
    names = layout.names or None
    frame = pd.read_csv(
        content,  # pyright: ignore[reportArgumentType]
        sep=layout.separator,
        skiprows=layout.skipped,
        header="infer" if names is None else None,
        names=names,
        encoding=encoding,
        skipinitialspace=True,
        low_memory=False,
        **options,
    )
    return frame.rename(columns=lambda name: str(name).strip())
