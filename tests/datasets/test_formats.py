"""The official file formats, in files that follow other programs' conventions."""

import gzip
import struct

import numpy as np
import pytest
import scipy.io

from bnnbench.datasets.errors import DataDamaged
from bnnbench.datasets.official import mnist, stl10, svhn, uci
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.datasets.official.stl10 import Stl10
from bnnbench.datasets.official.svhn import Svhn, SvhnFirst1083
from bnnbench.datasets.official.uci import Uci
from bnnbench.datasets.reading.files import DataFile
from tests.datasets.conftest import md5

RNG = np.random.default_rng(0)


def put(folder, path: str, content: bytes) -> DataFile:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(content)
    return DataFile("test", path, md5(content), len(content))


def test_svhn_reads_matlab_files_and_calls_ten_zero(folder, monkeypatch):
    images = RNG.integers(256, size=(5, 32, 32, 3), dtype=np.uint8)
    folder.mkdir()
    scipy.io.savemat(
        folder / "made.mat",
        {"X": images.transpose(1, 2, 3, 0), "y": np.array([[10], [1], [9], [10], [5]], np.uint8)},
    )
    file = put(folder, "test_32x32.mat", (folder / "made.mat").read_bytes())
    monkeypatch.setitem(svhn.FILES, "test", (file,))
    read, labels = Svhn().images("test")
    np.testing.assert_array_equal(read, images)
    assert labels.tolist() == [0, 1, 9, 0, 5]
    assert len(Svhn().missing()) == 1  # the training file, which the test part does not need


def test_stl10_reads_columns_first_and_labels_from_zero(folder, monkeypatch):
    images = RNG.integers(256, size=(4, 96, 96, 3), dtype=np.uint8)
    columns = b"".join(images[n, :, x, c].tobytes() for n in range(4) for c in range(3)
                       for x in range(96))  # fmt: skip
    pixels = put(folder, "stl10_binary/test_X.bin", columns)
    labels = put(folder, "stl10_binary/test_y.bin", bytes([1, 10, 3, 2]))
    monkeypatch.setitem(stl10.FILES, "test", (pixels, labels))
    read, classes = Stl10().images("test")
    np.testing.assert_array_equal(read, images)
    assert classes.tolist() == [0, 9, 2, 1]


def idx(*sizes: int, content: bytes) -> bytes:
    return gzip.compress(struct.pack(f">BBBB{len(sizes)}I", 0, 0, 8, len(sizes), *sizes) + content)


def test_mnist_reads_gzipped_idx_files(folder, monkeypatch):
    images = RNG.integers(256, size=(6, 28, 28), dtype=np.uint8)
    pixels = put(folder, "pixels.gz", idx(6, 28, 28, content=images.tobytes()))
    labels = put(folder, "labels.gz", idx(6, content=bytes([3, 1, 4, 1, 5, 9])))
    monkeypatch.setitem(mnist.FILES, "test", (pixels, labels))
    read, digits = Mnist().images("test")
    np.testing.assert_array_equal(read[..., 0], images)
    assert digits.tolist() == [3, 1, 4, 1, 5, 9]


def test_mnist_refuses_images_and_labels_of_unequal_length(folder, monkeypatch):
    pixels = put(folder, "pixels.gz", idx(2, 28, 28, content=bytes(2 * 784)))
    labels = put(folder, "labels.gz", idx(3, content=bytes(3)))
    monkeypatch.setitem(mnist.FILES, "test", (pixels, labels))
    with pytest.raises(DataDamaged, match="equal length"):
        Mnist().images("test")


def test_year_has_the_target_first_and_its_official_split(folder, monkeypatch):
    rows = RNG.normal(size=(7, 91)).round(4)
    text = "\n".join(",".join(map(repr, row)) for row in rows.tolist())
    entry = uci.SETS["year"]
    file = put(folder, entry.file.path, text.encode())
    monkeypatch.setitem(uci.SETS, "year", type(entry)(**vars(entry) | {"file": file}))
    monkeypatch.setattr(uci, "YEAR_TRAIN", 5)
    table = Uci("year").table(0)
    np.testing.assert_array_equal(table.train_inputs, rows[:5, 1:])
    np.testing.assert_array_equal(table.train_targets, rows[:5, 0])
    np.testing.assert_array_equal(table.test_targets, rows[5:, 0])
    assert Uci("year").folds == 1


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off"])
def test_the_svhn_subset_is_refused_when_damaged(folder, content):
    put(folder, "svhn_train_first1083.npz", content)
    with pytest.raises(DataDamaged, match="first1083"):
        SvhnFirst1083().images("test")


def test_the_svhn_subset_is_refused_with_other_pixels(folder):
    folder.mkdir()
    np.savez(folder / "svhn_train_first1083.npz", X=np.zeros((1083, 32, 32, 3), np.uint8))
    with pytest.raises(DataDamaged, match="does not contain the known 1,083"):
        SvhnFirst1083().images("test")
