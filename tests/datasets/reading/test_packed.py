"""Data files transferred in parts: restored byte for byte, or not at all."""

import hashlib
import json
import lzma
import os
import pickle

import numpy as np
import pytest

from bnnbench.commands import data as command
from bnnbench.datasets.errors import DataDamaged, DataUnavailable
from bnnbench.datasets.official import cifar10
from bnnbench.datasets.reading import packed, pixels
from bnnbench.datasets.reading.files import DataFile
from tests.datasets.conftest import md5

RNG = np.random.default_rng(0)


def images(count: int) -> np.ndarray:
    """Return smooth images with a little noise, as rows of a CIFAR pickle."""
    rows, columns = np.mgrid[:32, :32]
    phase = RNG.uniform(0, 6, (count, 3, 1, 1))
    smooth = 128 + 90 * np.sin(rows / 9 + phase) * np.cos(columns / 7 - phase)
    noisy = smooth + RNG.normal(0, 3, smooth.shape)
    return noisy.clip(0, 255).astype(np.uint8).reshape(count, -1)


def batch(count: int) -> bytes:
    """Return a pickle like the official ones: an array in one piece, among lists and texts."""
    labels = RNG.integers(10, size=count).tolist()
    names = [f"image_{k}.png" for k in range(count)]
    fields = {"batch_label": "made", "labels": labels, "data": images(count), "filenames": names}
    return pickle.dumps(fields, protocol=3)  # Python 2 wrote an array's bytes unchanged, too


FILES = {
    "cifar-10-batches-py/made": batch(30),
    "cifar-10-batches-py/one": batch(1),
    "empty": b"",
    "noise.bin": RNG.bytes(50_000),
    "other.pickle": pickle.dumps({"data": np.arange(7)}, protocol=2),
    "looks_like.pickle": b"\x80\x02 but is none",
    "deep/er/text.csv": b"a,b\n1,2\n" * 400,
}


@pytest.fixture(autouse=True)
def several_strips(monkeypatch):
    monkeypatch.setattr(pixels, "IN_A_STRIP", 13)


@pytest.fixture
def written(tmp_path):
    """The files on disk, by their paths in the data folder."""
    for path, content in FILES.items():
        place = tmp_path / "here" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return {path: tmp_path / "here" / path for path in FILES}


@pytest.fixture
def parts(written, tmp_path):
    return packed.write(written, tmp_path / "parts", 30_000)


def test_files_come_back_byte_for_byte_in_whatever_order_parts_arrive(parts, tmp_path):
    assert len(parts) >= 3
    packed.read(reversed(parts), tmp_path / "there")
    there = {
        str(path.relative_to(tmp_path / "there")): path.read_bytes()
        for path in (tmp_path / "there").rglob("*")
        if path.is_file()
    }
    assert there == FILES


@pytest.mark.parametrize("largest", [2500, 30_000, 10**6])
def test_no_part_is_larger_than_asked(written, largest, tmp_path):
    parts = packed.write(written, tmp_path / "parts", largest)
    sizes = [part.stat().st_size for part in parts]
    assert max(sizes) <= largest
    assert len(parts) == 1 or sum(sizes) > largest


def test_equal_files_give_equal_parts(written, parts, tmp_path):
    again = packed.write(written, tmp_path / "again", 30_000)
    assert [p.read_bytes() for p in parts] == [p.read_bytes() for p in again]


def test_images_are_coded_as_images_and_smaller_than_by_xz():
    content = FILES["cifar-10-batches-py/made"]
    coded = pixels.encode(content)
    assert coded is not None
    assert pixels.decode(coded) == content
    assert len(coded) < 0.8 * len(lzma.compress(content))
    assert pixels.encode(FILES["other.pickle"]) is None
    assert pixels.encode(FILES["looks_like.pickle"]) is None


def test_a_part_that_is_missing_is_named_and_nothing_is_written(parts, tmp_path):
    with pytest.raises(DataUnavailable, match=f"of {len(parts)} parts.*missing: 2$"):
        packed.read([parts[0], *parts[2:]], tmp_path / "there")
    with pytest.raises(DataUnavailable, match="no part of an archive was given"):
        packed.read([], tmp_path / "there")
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize("damage", ["flip", "cut", "head", "empty"])
def test_a_part_that_was_altered_is_refused_and_nothing_is_written(parts, damage, tmp_path):
    content = bytearray(parts[1].read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 1
    damaged = {"cut": content[:-1], "head": content[3:], "empty": b""}.get(damage, content)
    parts[1].write_bytes(damaged)
    with pytest.raises(DataDamaged, match="part-2-of-"):
        packed.read(parts, tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_parts_of_two_archives_are_not_joined(written, parts, tmp_path):
    others = packed.write({"empty": written["empty"]}, tmp_path / "others", 1000)
    with pytest.raises(DataDamaged, match="several archives"):
        packed.read([*parts, *others], tmp_path / "there")


@pytest.mark.parametrize("path", ["../outside", "/tmp/outside", "a/../../outside", ""])
def test_no_file_leads_out_of_the_data_folder(path, tmp_path):
    coded = lzma.compress(b"x")
    digest = hashlib.sha256(b"x").hexdigest()
    entry = {"path": path, "sha256": digest, "coding": "xz", "bytes": len(coded)}
    whole = json.dumps([entry]).encode() + b"\n" + coded
    digest = hashlib.sha256(whole).hexdigest()
    head = {"archive": digest, "part": 1, "of": 1, "sha256": digest}
    part = tmp_path / "part-1-of-1.pack"
    part.write_bytes(json.dumps(head).encode() + b"\n" + whole)
    with pytest.raises(DataDamaged, match="leads out"):
        packed.read([part], tmp_path / "there" / "data")
    assert not (tmp_path / "there").exists()


def put(folder, name: str) -> DataFile:
    path, content = f"cifar-10-batches-py/{name}", FILES["cifar-10-batches-py/made"]
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(content)
    return DataFile("cifar10", path, md5(content), len(content))


def test_commands_pack_what_is_here_and_restore_it_elsewhere(folder, monkeypatch, tmp_path, capsys):
    train, test = put(folder, "data_batch_1"), put(folder, "test_batch")
    absent = DataFile("cifar10", "cifar-10-batches-py/data_batch_2", train.checksum, train.bytes)
    monkeypatch.setitem(cifar10.FILES, "train", (train, absent))
    monkeypatch.setitem(cifar10.FILES, "test", (test,))
    out, there = tmp_path / "parts", tmp_path / "there"
    pack = ["pack", "cifar10", "--parts-of", "20K", "--out", str(out)]
    assert command.main(pack) == 0
    assert f"missing, left out: {absent.place}" in capsys.readouterr().out
    assert command.main(["unpack", str(out), "--data-dir", str(there)]) == 0
    for file in (train, test):
        assert (there / file.path).read_bytes() == FILES["cifar-10-batches-py/made"]
    next(out.iterdir()).unlink()
    assert command.main(["unpack", str(out), "--data-dir", str(there)]) == 1
    assert "these are missing" in capsys.readouterr().err
    monkeypatch.setenv("BNNBENCH_DATA", str(folder))
    train.place.write_bytes(b"altered")
    os.utime(train.place, (1, 1))
    assert command.main(pack) == 1
    assert "truncated or altered" in capsys.readouterr().err


@pytest.mark.long
def test_an_official_batch_comes_back_byte_for_byte(data_folder, monkeypatch):
    monkeypatch.undo()  # strips of the size in use
    place = data_folder / "cifar-10-batches-py" / "test_batch"
    if not place.is_file():
        pytest.skip("no CIFAR-10 in BNNBENCH_DATA")
    content = place.read_bytes()
    coded = pixels.encode(content)
    assert coded is not None
    assert pixels.decode(coded) == content
    assert len(coded) < 60 * 2**20 / 3  # six of them in two parts of 60 MiB


def resealed(folder, entries: object, body: bytes = b"", **head: object):
    """Write one part whose digests match, whatever it says."""
    line = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    whole = line + b"\n" + body
    digest = hashlib.sha256(whole).hexdigest()
    text = json.dumps({"archive": digest, "part": 1, "of": 1, "sha256": digest} | head)
    path = folder / f"part{packed.ENDING}"
    path.write_bytes(text.encode() + b"\n" + whole)
    return path


@pytest.mark.parametrize(
    "change",
    [{"path": 5}, {"path": None}, {"path": "a\0b"}, {"path": ""}, {"coding": "zip"},
     {"coding": "images"}, {"bytes": "many"}, {"bytes": None}],
)  # fmt: skip
def test_an_entry_that_was_changed_and_resealed_is_damaged(tmp_path, change):
    coded = lzma.compress(b"rows")
    digest = hashlib.sha256(b"rows").hexdigest()
    entry = {"path": "rows.txt", "sha256": digest, "coding": "xz", "bytes": len(coded)}
    path = resealed(tmp_path, [entry], coded)
    assert [p.name for p in packed.read([path], tmp_path / "sound")] == ["rows.txt"]
    path = resealed(tmp_path, [entry, entry | change], 2 * coded)
    with pytest.raises(DataDamaged):
        packed.read([path], tmp_path / "data")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    "part", [b"[" * 100_000, b"5", b'{"a": 1}'], ids=["deep", "number", "mapping"]
)
def test_an_index_of_another_form_is_damaged(tmp_path, part):
    with pytest.raises(DataDamaged):
        packed.read([resealed(tmp_path, part)], tmp_path / "data")


@pytest.mark.parametrize(
    "head", [{"of": 10**9}, {"of": 0}, {"part": -1}, {"of": 1e400}, {"part": [1]}]
)
def test_a_count_of_parts_is_not_believed(tmp_path, head):
    with pytest.raises((DataDamaged, DataUnavailable)):
        packed.read([resealed(tmp_path, [], **head)], tmp_path / "data")
