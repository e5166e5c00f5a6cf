"""STL-10 in the classes and size of CIFAR-10, from files in the official layout."""

import numpy as np
import pytest

from bnnbench.datasets.cuts.augmented import Augmented
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.cuts.stl10_shared import CIFAR_10, Stl10Shared, shrunk
from bnnbench.datasets.official import stl10
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.datasets.official.stl10 import Stl10
from bnnbench.datasets.stand_ins import DigitsAsCifar10
from tests.datasets.test_formats import put

# The official orders of classes, from the documentation of both data sets.
STL_10_NAMES = ("airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck")
CIFAR_10_NAMES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
RNG = np.random.default_rng(0)


@pytest.fixture
def images(folder, monkeypatch) -> np.ndarray:
    """The images of a test part on disk, one per class and a second monkey."""
    made = RNG.integers(256, size=(11, 96, 96, 3), dtype=np.uint8)
    columns = made.transpose(0, 3, 2, 1).tobytes()  # column by column, channel by channel
    pixels = put(folder, "stl10_binary/test_X.bin", columns)
    labels = put(folder, "stl10_binary/test_y.bin", bytes([*range(1, 11), 8]))
    monkeypatch.setitem(stl10.FILES, "test", (pixels, labels))
    return made


def test_labels_name_the_same_thing_in_both():
    same = {"car": "automobile"}
    for theirs, ours in zip(STL_10_NAMES, CIFAR_10, strict=True):
        if theirs == "monkey":
            assert ours == -1
        else:
            assert CIFAR_10_NAMES[ours] == same.get(theirs, theirs)


def test_monkeys_are_left_out_or_counted_as_frogs(images):
    found, labels = Stl10Shared().images("test")
    assert tuple(CIFAR_10_NAMES[k] for k in labels) == (
        ("airplane", "bird", "automobile", "cat", "deer", "dog", "horse", "ship", "truck")
    )
    everything, with_monkeys = Stl10Shared(monkeys=True).images("test")
    assert tuple(CIFAR_10_NAMES[k] for k in with_monkeys) == (
        (
            "airplane",
            "bird",
            "automobile",
            "cat",
            "deer",
            "dog",
            "horse",
            "frog",
            "ship",
            "truck",
            "frog",
        )
    )
    kept = [k for k in range(10) if k != 7]
    np.testing.assert_array_equal(found, everything[kept])
    np.testing.assert_array_equal(everything, shrunk(images, 32))
    assert found.shape == (9, 32, 32, 3)
    assert found.dtype == np.uint8
    assert Stl10Shared().name == "stl10"
    assert Stl10Shared(monkeys=True).name == "stl10_with_monkeys"


def test_a_third_of_the_side_is_a_mean_under_a_triangle_of_five_pixels(images):
    weights = np.array([1, 2, 3, 2, 1]) / 9
    small = shrunk(images, 32)
    image = images[3].astype(float)
    for row, column in ((1, 1), (7, 20), (30, 30)):
        window = image[3 * row - 1 : 3 * row + 4, 3 * column - 1 : 3 * column + 4]
        expected = np.einsum("i,j,ijc->c", weights, weights, window)
        np.testing.assert_allclose(small[3, row, column], expected, atol=0.501)
    corner = np.array([2, 3, 2, 1]) / 8  # pixels outside have no weight
    expected = np.einsum("i,j,ijc->c", corner, corner, image[:4, :4])
    np.testing.assert_allclose(small[3, 0, 0], expected, atol=0.501)


def test_images_shrink_as_in_pillow(images):
    pillow = pytest.importorskip("PIL.Image")
    for made, small in zip(images, shrunk(images, 32), strict=True):
        theirs = np.asarray(pillow.fromarray(made).resize((32, 32), pillow.Resampling.BILINEAR))
        # Pillow also rounds between rows and columns.
        assert np.abs(theirs.astype(int) - small).max() <= 1


def test_a_constant_image_stays_as_it_is():
    grey = np.full((1, 96, 96, 3), 201, np.uint8)
    assert (shrunk(grey, 32) == 201).all()


def test_without_its_files_it_names_them_and_digits_take_its_place(folder):
    assert Stl10Shared().missing("test") == Stl10().missing("test")
    assert len(Stl10Shared().missing("test")) == 2
    assert Stl10Shared().fallbacks("test") == (DigitsAsCifar10(),)
    assert Limited(Stl10Shared(), test=5).fallbacks("test") == (Limited(DigitsAsCifar10(), test=5),)


def test_cifar_10_has_these_classes():
    assert Augmented(Cifar10()).classes == Stl10Shared().classes == len(CIFAR_10_NAMES)
