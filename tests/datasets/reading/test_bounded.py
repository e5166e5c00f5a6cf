"""Small files that stand for large ones: refused from their headers, or after one block."""

import gzip
import io
import lzma
import tracemalloc
import zipfile

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from bnnbench.datasets.errors import DataDamaged
from bnnbench.datasets.own.reading import BadTable, read
from bnnbench.datasets.reading import bounded, npz, packed
from bnnbench.datasets.reading.bounded import TooLarge
from bnnbench.engine.external.forms import BadPredictions
from bnnbench.engine.external.reading import read_content
from bnnbench.engine.run.packing import unpack

LIMIT = 2**18
BOMB = 64 * LIMIT


@pytest.fixture(autouse=True)
def limit(monkeypatch):
    """Lower the limits, and check that no test uses much more."""
    monkeypatch.setattr(bounded, "LARGEST", LIMIT)
    monkeypatch.setattr(bounded, "TIMES", 1)
    monkeypatch.setattr(bounded, "BLOCK", 2**14)
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.75 * BOMB


def member(array_bytes: int, stated: int | None = None) -> bytes:
    """Return an npy file of zeros; its header may state another length."""
    header = io.BytesIO()
    shape = (array_bytes if stated is None else stated,)
    np.lib.format.write_array_header_1_0(
        header, {"descr": "|u1", "fortran_order": False, "shape": shape}
    )
    return header.getvalue() + bytes(array_bytes)


def zipped(**members: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in members.items():
            archive.writestr(name + ".npy", array)
    return content.getvalue()


SMALL = {"means": member(51), "variances": member(51)}
LARGE = member(BOMB)


def test_a_large_array_is_not_unpacked():
    with pytest.raises(TooLarge, match="unpacks to 16 MiB, more than the limit of 0 MiB"):
        npz.arrays_of(zipped(**SMALL, aaa=LARGE))


def test_sizes_in_the_directory_and_in_the_header_must_agree():
    with pytest.raises(ValueError, match="another size than its header states"):
        npz.arrays_of(zipped(a=member(10, stated=2**52)))
    content = bytearray(zipped(a=LARGE))
    at = content.rfind(b"PK\x01\x02") + 24  # the unpacked size in the directory
    content[at : at + 4] = len(member(10)).to_bytes(4, "little")
    with pytest.raises(ValueError, match="a"):
        npz.arrays_of(bytes(content))


def test_an_uncompressed_file_may_have_any_size():
    content = io.BytesIO()
    np.savez(content, a=np.zeros(2 * LIMIT, np.uint8))
    assert npz.arrays_of(content.getvalue())["a"].nbytes == 2 * LIMIT


def test_a_folder_of_many_arrays_is_refused(monkeypatch):
    monkeypatch.setattr(npz, "MOST_MEMBERS", 3)
    with pytest.raises(ValueError, match="4 arrays, more than the limit of 3"):
        npz.arrays_of(zipped(a=member(1), b=member(1), c=member(1), d=member(1)))


def test_stored_predictions_are_bounded():
    with pytest.raises(TooLarge):
        unpack(zipped(**{"clean/targets": LARGE}))


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({**SMALL, "aaa": LARGE}, "'aaa' is not part of a prediction"),
        ({"means": SMALL["means"], "variances": LARGE}, "variances"),
        ({**SMALL, "fold": LARGE}, "fold has shape"),
        ({"low": LARGE, "high": SMALL["means"], "level": member(1)}, "low ends have shape"),
        ({"levels": LARGE, "quantiles": SMALL["means"]}, "levels have shape"),
        ({"samples": member(LIMIT // 4)}, "in double precision"),
    ],
)
def test_predictions_handed_in_are_refused_by_their_headers(monkeypatch, members, reason):
    if "double" not in reason:
        monkeypatch.setattr(bounded, "LARGEST", 2 * BOMB)  # so that names and shapes decide
    with pytest.raises(BadPredictions, match=reason):
        read_content(zipped(**members), "mine.npz")


def test_own_arrays_whose_shapes_do_not_fit_are_refused_by_their_headers(monkeypatch, tmp_path):
    monkeypatch.setattr(bounded, "LARGEST", 2 * BOMB)
    file = tmp_path / "mine.npz"
    file.write_bytes(zipped(inputs=LARGE, targets=member(30)))
    tracemalloc.reset_peak()
    with pytest.raises(BadTable, match="got shapes"):
        read(str(file))


LINE = b"a,b\n" + b"1,2\n" * 16
TEXT = b"a,b\n" + b"1,2\n" * LIMIT
PACKERS = {"gz": gzip.compress, "xz": lzma.compress}


def in_a_zip(text: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", text)
    return content.getvalue()


@pytest.mark.parametrize("suffix", [*PACKERS, "zip"])
def test_a_packed_table_is_read_and_a_large_one_refused(tmp_path, suffix):
    pack = PACKERS.get(suffix, in_a_zip)
    file = tmp_path / f"mine.csv.{suffix}"
    file.write_bytes(pack(LINE))
    assert read(str(file)).shape == (16, 2)
    file.write_bytes(pack(TEXT))
    tracemalloc.reset_peak()
    with pytest.raises(BadTable, match="limit of 0 MiB; save it unpacked"):
        read(str(file))


def test_a_parquet_file_of_equal_rows_is_refused(tmp_path):
    file = tmp_path / "mine.parquet"
    column = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array(np.zeros(400, np.int32)), pyarrow.array(["x" * 100_000])
    )
    pyarrow.parquet.write_table(pyarrow.table({"a": column.cast(pyarrow.string())}), file)
    assert file.stat().st_size < LIMIT / 2
    with pytest.raises(BadTable, match="more than the limit"):
        read(str(file))


def test_a_long_text_is_not_unpacked_once_for_each_row(tmp_path, monkeypatch):
    file = tmp_path / "mine.parquet"
    column = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array(np.zeros(8192, np.int32)), pyarrow.array(["x" * 2**17])
    )
    table = pyarrow.table({"a": column})
    pyarrow.parquet.write_table(table, file, compression="zstd")
    most = []
    batches = pyarrow.parquet.ParquetFile.iter_batches

    def spied(self, rows, *rest):
        most.append(rows)
        return batches(self, rows, *rest)

    monkeypatch.setattr(pyarrow.parquet.ParquetFile, "iter_batches", spied)
    with pytest.raises(BadTable, match="more than the limit"):
        read(str(file))
    assert most[0] * 2**17 <= bounded.limit_of(file.stat().st_size)


@pytest.mark.parametrize("shape", [(0, 20_000_000), (0, 3), (3, 0)])
def test_inputs_without_a_number_are_refused(tmp_path, shape):
    np.savez(tmp_path / "mine.npz", inputs=np.zeros(shape), targets=np.zeros(shape[0]))
    with pytest.raises(BadTable, match="one or more of both"):
        read(str(tmp_path / "mine.npz"))


def test_an_xz_file_that_needs_a_large_dictionary_is_refused(monkeypatch):
    monkeypatch.setattr(bounded, "MEMORY", 2**20)
    content = lzma.compress(b"x", preset=6)
    tracemalloc.reset_peak()
    with pytest.raises(lzma.LZMAError, match=r"[Mm]emory"):
        bounded.unxz(content)


def test_packed_data_files_are_bounded(tmp_path):
    file = tmp_path / "large"
    file.write_bytes(bytes(8 * LIMIT))
    (part,) = packed.write({"large": file}, tmp_path, BOMB)
    tracemalloc.reset_peak()
    with pytest.raises(DataDamaged, match="limit of 0 MiB"):
        packed.read([part], tmp_path / "data")
