"""Text files as tables: csv and its relatives, which may be packed."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bnnbench.datasets.own.files.encodings import Bytes, encoding_of, notes_on
from bnnbench.datasets.own.files.layout import Layout, layout_of
from bnnbench.datasets.own.files.written import LEADING_ZERO, settled
from bnnbench.datasets.own.notes import Sheet
from bnnbench.datasets.reading.bounded import PACKED, unpacked_text
from bnnbench.datasets.reading.columns import BadTable
from bnnbench.datasets.reading.whole_files import open_regular, read_regular

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
