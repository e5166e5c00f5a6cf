"""Official files if present, else generated ones, cached on disk within a limit."""

import hashlib
import io
import os
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bnnbench.datasets import fetchable
from bnnbench.datasets.corruptions import corrupt
from bnnbench.datasets.corruptions.files import blocks, official, textures
from bnnbench.datasets.corruptions.files.checksums import CIFAR10_C, CIFAR100_C
from bnnbench.datasets.corruptions.files.official import CIFAR10_C_FILES, CIFAR100_C_FILES, Official
from bnnbench.datasets.errors import DataDamaged, DataUnavailable
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.datasets.reading import files
from bnnbench.datasets.reading.files import DataFile, FileSet
from bnnbench.datasets.stand_ins import DigitsAsCifar10
from tests.datasets.conftest import md5

DIGITS = np.ascontiguousarray(DigitsAsCifar10().images("test")[0])[:20]


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.fixture
def archive(monkeypatch, server) -> Official:
    """A small archive of the first digits under fog, on a server on this machine."""
    monkeypatch.setattr(official, "ROWS", len(DIGITS))
    fog = np.concatenate([corrupt(DIGITS, "fog", s, seed=77) for s in range(1, 6)])
    content = {"fog": npy(fog), "labels": npy(np.zeros(100, np.uint8))}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, raw in content.items():
            member = tarfile.TarInfo(f"CIFAR-10-C/{name}.npy")
            member.size = len(raw)
            tar.addfile(member, io.BytesIO(raw))
    pack = buffer.getvalue()
    url = server.serve("/CIFAR-10-C.tar", pack)
    tar_file = DataFile("cifar10_c", "CIFAR-10-C.tar", md5(pack), len(pack), (url,))
    members = tuple(
        DataFile("cifar10_c", f"CIFAR-10-C/{name}.npy", md5(raw), len(raw), archive=tar_file)
        for name, raw in content.items()
    )
    sums = {name: md5(raw).removeprefix("md5:") for name, raw in content.items()}
    made = corrupt(DIGITS, "contrast", 2)
    one = Official(
        DigitsAsCifar10(),
        FileSet("cifar10_c", members, "CC BY 4.0"),
        sums | {"contrast": "0" * 32},
        {"contrast": ("", official.md5(made), "", "", "")},
    )
    contrast = replace(members[0], path="CIFAR-10-C/contrast.npy")
    one = replace(one, files=replace(one.files, files=(*members, contrast)))
    monkeypatch.setattr(official, "OFFICIAL", (one,))
    return one


def fetched(archive: Official) -> None:
    files.fetch(archive.files.files[:2])


def test_the_archives_are_described_by_name_size_and_checksum():
    for file_set, sums in ((CIFAR10_C_FILES, CIFAR10_C), (CIFAR100_C_FILES, CIFAR100_C)):
        assert fetchable(file_set.name) is file_set
        assert len(file_set.files) == len(sums) == 20
        assert file_set.bytes == 19 * 153_600_128 + 50_128
    fog = CIFAR10_C_FILES.files[list(CIFAR10_C).index("fog")]
    assert (fog.path, fog.bytes) == ("CIFAR-10-C/fog.npy", 153_600_128)
    assert fog.checksum == "md5:7b397314b5670f825465fbcd1f6e9ccd"
    assert fog.archive is not None
    assert fog.archive.bytes == 2_918_471_680
    assert fog.archive.checksum == "md5:56bf5dcef84df0e2308c6dcbcbbd8499"


def test_the_labels_are_five_times_those_of_the_test_images(cifar10):
    labels = np.tile(Cifar10().images("test")[1].astype(np.uint8), 5)
    assert hashlib.md5(npy(labels)).hexdigest() == CIFAR10_C["labels"]
    assert len(npy(labels)) == official.LABEL_BYTES


def test_fetched_files_are_preferred_and_their_origin_is_original(folder, archive):
    made, origin = blocks.provided(DIGITS, "fog", 3)
    assert origin == "generated"
    fetched(archive)
    assert archive.has("fog")
    found, origin = blocks.provided(DIGITS, "fog", 3)
    assert origin == "original"
    assert np.array_equal(found, corrupt(DIGITS, "fog", 3, seed=77))
    assert not np.array_equal(found, made)


def test_the_first_images_of_a_test_set_are_the_first_of_the_file(folder, archive):
    fetched(archive)
    found, _ = blocks.provided(DIGITS[:7], "fog", 5)
    assert np.array_equal(found, corrupt(DIGITS[:7], "fog", 5, seed=77))


def test_other_images_than_the_first_are_never_taken_for_official_ones(folder, archive):
    fetched(archive)
    _, origin = blocks.provided(DIGITS[1:], "fog", 5)
    assert origin == "generated"


def test_an_altered_official_file_is_named_with_its_cure(folder, archive):
    fetched(archive)
    place = archive.file("fog").place
    place.write_bytes(place.read_bytes()[:-1] + b"x")
    os.utime(place, ns=(1, 1))
    with pytest.raises(DataDamaged, match="fetch cifar10_c"):
        blocks.provided(DIGITS, "fog", 1)


def test_made_images_are_original_only_as_a_whole_and_byte_for_byte(folder, archive):
    assert blocks.provided(DIGITS, "contrast", 2)[1] == "original"
    assert blocks.provided(DIGITS, "contrast", 3)[1] == "generated"
    assert blocks.provided(DIGITS[:19], "contrast", 2)[1] == "generated"


def kept(folder: Path) -> list[Path]:
    return sorted((folder / blocks.FOLDER).glob("*"))


def test_made_images_come_from_the_disk_the_second_time(folder, monkeypatch):
    first = blocks.block(DIGITS, "motion_blur", 2)
    assert len(kept(folder)) == 1
    monkeypatch.setattr(blocks, "corrupt", None)
    assert np.array_equal(blocks.block(DIGITS, "motion_blur", 2), first)


def test_other_images_severities_and_libraries_are_kept_apart(folder, monkeypatch):
    blocks.block(DIGITS, "contrast", 2)
    blocks.block(DIGITS, "contrast", 3)
    blocks.block(DIGITS[:9], "contrast", 2)
    monkeypatch.setattr(blocks, "versions", lambda: ("another",))
    blocks.block(DIGITS, "contrast", 2)
    assert len(kept(folder)) == 4


@pytest.mark.parametrize("damage", [b"", b"x" * 100, None])
def test_a_damaged_block_is_made_again(folder, damage):
    first = blocks.block(DIGITS, "contrast", 2)
    (place,) = kept(folder)
    content = place.read_bytes()
    place.write_bytes(content[:-1] + b"\x01" if damage is None else damage)
    assert np.array_equal(blocks.block(DIGITS, "contrast", 2), first)
    assert [one.read_bytes() for one in kept(folder)] == [content]


def test_the_disk_holds_no_more_than_its_bound_and_loses_the_oldest(folder, monkeypatch):
    size = len(npy(DIGITS))
    monkeypatch.setattr(blocks, "KEPT_BYTES", 2 * size)
    for age, severity in enumerate((1, 2)):
        blocks.block(DIGITS, "contrast", severity)
        newest = max(kept(folder), key=lambda path: path.stat().st_mtime_ns)
        os.utime(newest, ns=(age, age))
    blocks.block(DIGITS, "contrast", 1)  # used again, so the other file is now the oldest
    blocks.block(DIGITS, "contrast", 3)
    names = [path.name[:10] for path in kept(folder)]
    assert names == ["contrast_1", "contrast_3"]


def test_a_folder_that_cannot_be_written_is_told_of_and_does_no_harm(folder):
    folder.parent.joinpath("data").write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match="every run recomputes them"):
        made = blocks.block(DIGITS, "contrast", 2)
    assert np.array_equal(made, corrupt(DIGITS, "contrast", 2))


def test_frost_without_textures_says_how_to_get_them(folder, monkeypatch):
    monkeypatch.setenv("BNNBENCH_OFFLINE", "1")
    with pytest.raises(DataUnavailable, match="bnnbench data fetch frost"):
        corrupt(DIGITS, "frost", 1)


def test_photographs_stand_in_for_textures_only_where_they_may(folder, monkeypatch):
    monkeypatch.setenv("BNNBENCH_OFFLINE", "1")
    with textures.allow_photographs():
        frosted = corrupt(DIGITS, "frost", 5)
    assert (frosted.astype(int) - 0.75 * DIGITS > 1).mean() > 0.5
    with pytest.raises(DataUnavailable):
        corrupt(DIGITS, "frost", 5)


def test_textures_are_downloaded_where_they_are_missing(folder, server, monkeypatch, data_folder):
    real = {file.path: data_folder / file.path for file in textures.FILES}
    if absent := [place for place in real.values() if not place.is_file()]:
        pytest.skip(f"real data: {absent[0]} is not there")
    served = tuple(
        replace(file, urls=(server.serve(f"/{file.path}", real[file.path].read_bytes()),))
        for file in textures.FILES
    )
    monkeypatch.setattr(textures, "FILES", served)
    monkeypatch.setattr(textures, "FILE_SET", replace(textures.FILE_SET, files=served))
    assert len(textures.textures()) == 5
    assert len(list((folder / "frost").iterdir())) == 5
