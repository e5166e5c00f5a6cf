"""Archives of plain files: every header is checked before content is read."""

import io
import lzma
import tarfile

import pytest

from bnnbench.datasets.reading.bounded import TooLarge
from bnnbench.engine.store import bundles, submissions
from bnnbench.engine.store.archives import Unpacked, members
from bnnbench.engine.store.store import CorruptRecord
from bnnbench.reports.read.predictions.bundled import spans_in
from tests.reports.synthetic import record

NAME = f"runs/{'0' * 20}/record.json"


def archive(*entries: tuple[tarfile.TarInfo, bytes], form: int = tarfile.USTAR_FORMAT) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=form) as written:
        for entry, data in entries:
            written.addfile(entry, io.BytesIO(data))
    return content.getvalue()


def entry(size: int, name: str = NAME) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.size = size
    return made


def read(content: bytes, largest: int = 1000, most: int = 2000) -> dict[str, bytes]:
    packed = io.BytesIO(lzma.compress(content))
    return {m.name: m.read() for m in members(Unpacked(packed), largest, most)}


def sparse(size: int) -> bytes:
    """Return an archive with a sparse file: 512 bytes, and a hole up to a size."""
    made = entry(512)
    made.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(made.tobuf(tarfile.GNU_FORMAT))
    header[257:265] = b"ustar  \0"
    header[386:398], header[398:410] = b"%011o\0" % 0, b"%011o\0" % 512
    header[483:495] = b"%011o\0" % size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + b"1" * 512 + bytes(1024)


def test_files_are_read_or_passed_over():
    content = archive((entry(3, "a"), b"abc"), (entry(0, "b"), b""), (entry(600, "c"), b"x" * 600))
    assert read(content) == {"a": b"abc", "b": b"", "c": b"x" * 600}
    names = [m.name for m in members(io.BytesIO(content), 1000, 2000)]
    assert names == ["a", "b", "c"]


def test_a_large_file_and_many_small_ones_are_refused_by_their_headers():
    header_alone = entry(10**10).tobuf(tarfile.GNU_FORMAT)
    with pytest.raises(TooLarge, match=NAME):
        read(header_alone)
    with pytest.raises(TooLarge, match="all of it"):
        read(archive(*((entry(900, str(n)), bytes(900)) for n in range(3))))


def test_sparse_files_links_and_other_names_are_refused():
    with pytest.raises(tarfile.ReadError, match="kind 'S'"):
        read(sparse(10**10))
    link = entry(0)
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    with pytest.raises(tarfile.ReadError, match="kind '2'"):
        read(archive((link, b"")))
    long = "x" * 300
    with pytest.raises(tarfile.ReadError, match="kind 'L'"):
        read(archive((entry(1, long), b"x"), form=tarfile.GNU_FORMAT))
    with pytest.raises(tarfile.ReadError, match="changes a name or a size"):
        read(archive((entry(1, long), b"x"), form=tarfile.PAX_FORMAT))


def test_times_in_an_extended_header_are_passed_over():
    made = entry(3)
    made.mtime = 0.5
    assert read(archive((made, b"abc"), form=tarfile.PAX_FORMAT)) == {NAME: b"abc"}


def test_an_altered_header_never_ends_an_archive_early(tmp_path):
    packed = lzma.decompress(
        bundles.write(tmp_path, [record(fold=fold) for fold in range(3)]).read_bytes()
    )
    second = packed.index(b"runs/", 512)
    for altered in (
        packed[:second] + b"R" + packed[second + 1 :],
        packed[:second] + bytes(512) + packed[second + 512 :],
        packed[:second],
        packed[: second + 100],
        packed.rstrip(b"\0"),
    ):
        (tmp_path / bundles.NAME).write_bytes(lzma.compress(altered))
        with pytest.raises(CorruptRecord, match=bundles.COPY_AGAIN):
            bundles.read(tmp_path)
    flipped = packed[: second + 130] + bytes([packed[second + 130] ^ 1]) + packed[second + 131 :]
    (tmp_path / bundles.NAME).write_bytes(lzma.compress(flipped))
    with pytest.raises(CorruptRecord, match="a member's header is damaged"):
        bundles.read(tmp_path)


def test_bundles_submissions_and_archives_of_predictions_refuse_bombs(tmp_path, monkeypatch):
    monkeypatch.setattr(bundles, "LARGEST_RECORD", 1000)
    monkeypatch.setattr(submissions, "LARGEST_FILE", 1000)
    content = lzma.compress(archive((entry(2000), bytes(2000))))
    (tmp_path / bundles.NAME).write_bytes(content)
    for read_part in (bundles.read, bundles.suite_of):
        with pytest.raises(CorruptRecord, match="more than the limit"):
            read_part(tmp_path)
    with pytest.raises(CorruptRecord, match="more than the limit"):
        submissions.unpack(tmp_path / bundles.NAME, tmp_path / "out")
    (tmp_path / "predictions.tar").write_bytes(sparse(10**10))
    with pytest.raises(ValueError, match="kind 'S'"):
        spans_in([tmp_path / "predictions.tar"])


def test_a_submission_with_a_file_twice_is_refused(tmp_path):
    twice = (entry(1, "code/a.py"), b"1"), (entry(1, "code/a.py"), b"2")
    (tmp_path / "twice").write_bytes(lzma.compress(archive(*twice)))
    with pytest.raises(CorruptRecord, match=r"a\.py is in it twice"):
        submissions.unpack(tmp_path / "twice", tmp_path / "out")
