"""Custom images: folders as classes, a tenth or separate parts for testing, clear refusals."""

from typing import Any

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from bnnbench.datasets.base import Categorical, DataSource, has_images
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.own.images import has_pictures, own_images
from bnnbench.datasets.reading.cache import forget
from bnnbench.datasets.reading.columns import BadTable

_BUNCH: Any = load_digits()
PIXELS, DIGITS = _BUNCH.images.astype(np.uint8) * 15, _BUNCH.target


def saved(folder, rows, ending="png"):
    """Write these digits, each into the subfolder of its name."""
    for row in rows:
        place = folder / f"digit {DIGITS[row]}" / f"{row}.{ending}"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(PIXELS[row].repeat(4, 0).repeat(4, 1)).save(place)
    return str(folder)


@pytest.fixture
def rows():
    return np.flatnonzero(DIGITS < 3)[:90]


def test_sub_folders_are_classes_and_pixels_agree_with_the_files(tmp_path, rows):
    path = saved(tmp_path / "mine", rows)
    assert has_pictures(path)
    source = own_images(path)
    assert (source.name, source.labels) == ("mine", ("digit 0", "digit 1", "digit 2"))
    (train, train_labels), (test, test_labels) = source.images("train"), source.images("test")
    assert (train.shape, test.shape) == ((81, 32, 32, 3), (9, 32, 32, 3))
    expected = {PIXELS[row].tobytes(): DIGITS[row] for row in rows}
    shrunk = np.concatenate([train, test])[:, ::4, ::4, 0]
    found = {image.tobytes(): label for image, label in zip(
        np.ascontiguousarray(shrunk), [*train_labels, *test_labels], strict=True
    )}  # fmt: skip
    assert found == expected
    assert min(np.bincount(test_labels)) >= 2
    assert source.load(0).likelihood == Categorical(3)
    assert isinstance(source, DataSource)
    assert has_images(source)
    assert len(Limited(source, train=40).load(0).train) == 40


@pytest.mark.parametrize("name", ["test", "val"])
def test_parts_of_the_folder_are_the_split(tmp_path, rows, name):
    saved(tmp_path / "train", rows[:60])
    saved(tmp_path / name, rows[60:])
    source = own_images(str(tmp_path))
    assert len(source.images("train")[1]) == 60
    counts = np.bincount(source.images("test")[1], minlength=3)
    assert counts.tolist() == np.bincount(DIGITS[rows[60:]], minlength=3).tolist()


def test_changed_pictures_are_another_source(tmp_path, rows):
    path = saved(tmp_path, rows)
    before = own_images(path)
    Image.fromarray(PIXELS[5]).save(next(tmp_path.glob("*/*.png")))
    assert own_images(path) != before
    forget()  # as in another process
    with pytest.raises(BadTable, match="changed while the command ran"):
        before.images("train")


def test_bad_folders_are_refused_with_cause_and_cure(tmp_path, rows):
    assert not has_pictures(str(tmp_path))
    one = saved(tmp_path / "one", rows[DIGITS[rows] == 1])
    with pytest.raises(BadTable, match="at least two classes"):
        own_images(one)
    few = saved(tmp_path / "few", rows[:12])
    with pytest.raises(BadTable, match="12 pictures of 3 classes"):
        own_images(few)
    saved(tmp_path / "odd" / "train", rows[DIGITS[rows] < 2])
    saved(tmp_path / "odd" / "test", rows)
    with pytest.raises(BadTable, match=r"'digit 2' of .* only for testing"):
        own_images(str(tmp_path / "odd"))
    broken = saved(tmp_path / "broken", rows)
    next((tmp_path / "broken").glob("*/*.png")).write_bytes(b"no picture")
    with pytest.raises(BadTable, match="cannot be read as a picture"):
        own_images(broken)
