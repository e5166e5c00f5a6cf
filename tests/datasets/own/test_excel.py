"""Workbooks that are no tables, or would unpack to more: refused before any is unpacked."""

import io
import zipfile

import numpy as np
import pandas as pd
import pytest

from bnnbench.datasets.own.contents import contents_of
from bnnbench.datasets.own.files import excel
from bnnbench.datasets.own.reading import read, sheet_of
from bnnbench.datasets.reading import bounded
from bnnbench.datasets.reading.columns import BadTable
from tests.datasets.own.flats import cells, workbook


@pytest.fixture
def changed(tmp_path):
    """Write a workbook with one member replaced."""

    def write(member: str, change) -> str:
        stream = io.BytesIO()
        with (
            zipfile.ZipFile(io.BytesIO(workbook(("flats", cells())))) as before,
            zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as after,
        ):
            for entry in before.infolist():
                content = before.read(entry)
                after.writestr(entry, change(content) if entry.filename == member else content)
        path = tmp_path / "mine.xlsx"
        path.write_bytes(stream.getvalue())
        return str(path)

    return write


SHEET = "xl/worksheets/sheet1.xml"


def test_definitions_that_expand_are_refused(changed):
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    path = changed(SHEET, lambda content: content.replace(b"<worksheet", bomb + b"<worksheet", 1))
    with pytest.raises(BadTable, match="XML with definitions"):
        read(path)
    path = changed(SHEET, lambda content: content.decode().encode("utf-16"))
    with pytest.raises(BadTable, match="XML with definitions"):
        read(path)


def test_a_definition_is_seen_across_the_blocks_in_which_a_file_is_searched(changed):
    def change(content: bytes) -> bytes:
        return b"<!--" + b" " * (bounded.BLOCK - 10) + b"--><!DOCTYPE x []>" + content

    with pytest.raises(BadTable, match="XML with definitions"):
        read(changed(SHEET, change))


def test_a_workbook_that_states_a_large_size_is_refused(changed, monkeypatch):
    path = changed(SHEET, lambda content: content + b" " * 10_000)
    monkeypatch.setattr(bounded, "LARGEST", 10_000)
    monkeypatch.setattr(bounded, "TIMES", 0)
    with pytest.raises(BadTable, match=r"unpacks to .*, more than the limit"):
        read(path)


def test_cells_far_out_do_not_fill_the_memory(changed, monkeypatch):
    monkeypatch.setattr(excel, "MOST_CELLS", 100_000)
    rows = b"".join(b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (k, k) for k in range(50, 90))
    path = changed(SHEET, lambda content: content.replace(b"</sheetData>", rows + b"</sheetData>"))
    with pytest.raises(BadTable, match="more than 100,000 cells"):
        read(path)


def test_a_damaged_workbook_and_other_archives_are_named(tmp_path):
    path = tmp_path / "mine.xlsx"
    path.write_bytes(workbook(("flats", cells()))[:-200])
    with pytest.raises(BadTable, match="cannot be read as a table"):
        read(str(path))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "x")
    with pytest.raises(BadTable, match="a zip file, but neither an Excel workbook nor an npz"):
        read(str(path))
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    with pytest.raises(BadTable, match="Excel file of the old kind"):
        read(str(path))
    path.write_bytes(bytes(range(256)))
    with pytest.raises(BadTable, match="not a text file"):
        read(str(path))


def test_commas_beside_numbers_with_fractions_are_ambiguous(tmp_path):
    path = tmp_path / "mine.xlsx"
    prices = [4.5, 3.25, "5,210", 2.75, "5,329", *([8.5] * 20)]
    frame = pd.DataFrame({"price": prices, "rooms": range(25)})
    frame.to_excel(path, index=False)
    with pytest.raises(BadTable, match="ambiguous commas, such as in '5,210'"):
        contents_of(sheet_of(str(path)), "rooms", "regression", [])
    frame.assign(price=[5000, *["5,210"] * 24]).to_excel(path, index=False)
    contents = contents_of(sheet_of(str(path)), "rooms", "regression", [])
    inputs = contents.preparation.inputs(contents.rows)
    np.testing.assert_array_equal(inputs[:2, 0], [5000, 5210])
