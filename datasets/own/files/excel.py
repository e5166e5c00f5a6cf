"""Excel workbooks as tables: the first sheet that has rows; sizes are checked before unpacking."""

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from bnnbench.datasets.own.files.header import holds_values, numbered, on_lines
from bnnbench.datasets.own.notes import Note, Sheet, quoted
from bnnbench.datasets.reading.bounded import BLOCK, TooLarge, limit_of, require_size
from bnnbench.datasets.reading.columns import BadTable
from bnnbench.datasets.reading.whole_files import read_regular

MOST_MEMBERS = 10_000
"""Maximum number of files in a workbook."""
MOST_CELLS = 2**26
"""Maximum number of cells, empty ones before a filled one included."""
DECLARATIONS = re.compile(rb"<!DOCTYPE|<!ENTITY|\0")
"""Text that no workbook needs: definitions that expand, and encodings that could hide them."""

Row = tuple[object, ...]


def read_excel(file: Path) -> Sheet:
    """Return the table of a workbook.

    Raises `BadTable` without openpyxl, `bounded.TooLarge`, and openpyxl's errors for a file that is
    not complete.
    """
    content = read_regular(file)
    _require_plain(content, file)
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        cure = "pip install 'bnnbench[excel]', or save it as csv"
        raise BadTable(f"{file} is an Excel file, which needs openpyxl: {cure}") from error
    book = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
    sheets = {sheet.title: _rows(sheet) for sheet in book.worksheets}
    filled = [title for title, rows in sheets.items() if rows]
    if not filled:
        raise BadTable(f"{file} has no cells with values")
    frame, notes = _table(sheets[filled[0]], str(file))
    if others := filled[1:]:
        told = f"sheet {filled[0]!r} is read; others are not: {quoted(others)}"
        notes.append(Note(told, f"{file} has several sheets: save one of them as csv"))
    return Sheet(frame, (_on_kind(file), *notes))


def _on_kind(file: Path) -> Note:
    refused = f"{file} is not UTF-8 text: an Excel file: save it as csv"
    return Note("the file is read as an Excel workbook", refused)


def _require_plain(content: bytes, file: Path) -> None:
    """Raise `TooLarge` for a workbook beyond its limit, and `BadTable` for XML that expands."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if len(members) > MOST_MEMBERS:
            raise TooLarge(f"it has {len(members)} files, more than {MOST_MEMBERS}")
        require_size(sum(member.file_size for member in members), limit_of(len(content)), "it")
        for member in members:
            if member.filename.endswith((".xml", ".rels", ".vml")) and _is_odd(archive, member):
                cause = "XML with definitions or in another encoding, which is not read"
                raise BadTable(f"{file} has {cause}: save it as csv")


def _is_odd(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bool:
    end = b""
    with archive.open(member) as part:
        while block := part.read(BLOCK):
            if DECLARATIONS.search(end + block):
                return True
            end = block[-16:]
    return False


def _rows(sheet: object) -> list[Row]:
    """Return the rows of a sheet that have values; raises `TooLarge` beyond `MOST_CELLS` cells."""
    rows, cells = [], 0
    sheet.reset_dimensions()  # pyright: ignore[reportAttributeAccessIssue]
    for row in sheet.iter_rows(values_only=True):  # pyright: ignore[reportAttributeAccessIssue]
        cells += len(row) + 1
        if cells > MOST_CELLS:
            raise TooLarge(f"sheet {sheet.title!r} has more than {MOST_CELLS:,} cells")  # pyright: ignore[reportAttributeAccessIssue]
        if any(value is not None for value in row):
            rows.append(row)
    return rows


def _table(rows: Sequence[Row], title: str) -> tuple[pd.DataFrame, list[Note]]:
    """Return the table of rows whose first, but for titles, has the names of the columns."""
    width = max(map(len, rows))
    whole = [(*row, *[None] * (width - len(row))) for row in rows]
    places = [k for k in range(width) if any(row[k] is not None for row in whole)]
    whole = [tuple(row[k] for k in places) for row in whole]
    titles = next((k for k, row in enumerate(whole) if _filled(row) > 1 or len(row) == 1), 0)
    first, *below = whole[titles:]
    notes = [on_lines(titles, title)] if titles else []
    if holds_values([*_texts(first)], [[*_texts(row)] for row in below[:200]]):
        names, note = numbered([*_texts(first)], title)
        notes.append(note)
        below = [first, *below]
    else:
        names = [text or f"Unnamed: {place}" for place, text in enumerate(_texts(first))]
    frame = pd.DataFrame(below, columns=pd.Index(names), dtype=object)
    return frame.infer_objects(), notes


def _filled(row: Row) -> int:
    return sum(value is not None for value in row)


def _texts(row: Row) -> Iterator[str]:
    return ("" if value is None else str(value).strip() for value in row)
