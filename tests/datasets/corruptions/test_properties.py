"""Invariants of every corruption; their parts are compared with slow reference programs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage

from bnnbench.datasets.corruptions import CORRUPTIONS, EXTRA, TEST, corrupt
from bnnbench.datasets.corruptions.constants import CONSTANTS, SEVERITIES
from bnnbench.datasets.corruptions.kinds.digital import sampled
from bnnbench.datasets.corruptions.operations import water
from bnnbench.datasets.corruptions.operations.filters import zoomed
from bnnbench.suites.check.fits import global_generators

RNG = np.random.default_rng(5)
IMAGES = RNG.integers(0, 256, (7, 32, 32, 3), np.uint8)
RANDOM = [name for name, one in CORRUPTIONS.items() if one.draw]
FIXED = [name for name, one in CORRUPTIONS.items() if not one.draw]


@pytest.fixture(autouse=True)
def _textures(request):
    if "frost" in request.node.name:
        request.getfixturevalue("frost_textures")


def test_there_are_nineteen_of_which_four_are_extra():
    assert list(CORRUPTIONS) == list(dict.fromkeys((*TEST, *EXTRA)))
    assert (len(TEST), len(EXTRA)) == (15, 4)
    assert CONSTANTS.keys() == CORRUPTIONS.keys()
    assert all(len(each) == len(SEVERITIES) == 5 for each in CONSTANTS.values())
    assert len(RANDOM) == 11


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_any_parts_together_are_the_whole(name, monkeypatch):
    before = IMAGES.copy()
    whole = corrupt(IMAGES, name, 4)
    parts = [
        corrupt(IMAGES[part], name, 4, first=part.start) for part in (slice(0, 3), slice(3, 7))
    ]
    assert np.array_equal(np.concatenate(parts), whole)
    monkeypatch.setattr("bnnbench.datasets.corruptions.CHUNK", 2)
    assert np.array_equal(corrupt(IMAGES, name, 4), whole)
    assert np.array_equal(IMAGES, before)
    assert whole.dtype == np.uint8
    assert whole.shape == IMAGES.shape


@pytest.mark.parametrize("name", RANDOM)
def test_draws_differ_between_images_severities_seeds_and_only_then(name):
    same = np.stack([IMAGES[0]] * 3)
    one = corrupt(same, name, 2)
    assert np.array_equal(corrupt(same, name, 2), one)
    assert not np.array_equal(one[0], one[1])
    assert not np.array_equal(corrupt(same, name, 2, seed=1), one)
    assert not np.array_equal(corrupt(same, name, 2, first=3), one)
    assert not np.array_equal(corrupt(same, name, 4), one)


def test_severities_of_one_law_have_draws_of_their_own():
    assert not np.array_equal(corrupt(IMAGES, "motion_blur", 3), corrupt(IMAGES, "motion_blur", 4))


@pytest.mark.parametrize("name", FIXED)
def test_what_is_not_random_ignores_the_stream(name):
    same = np.stack([IMAGES[0]] * 2)
    one = corrupt(same, name, 3)
    assert np.array_equal(one[0], one[1])
    assert np.array_equal(corrupt(same, name, 3, seed=9, first=9), one)


def test_the_global_generator_is_left_alone():
    before = global_generators()
    corrupt(IMAGES, "gaussian_noise", 1)
    assert global_generators() == before


@pytest.mark.parametrize("severity", [0, 6, -1])
def test_a_severity_beyond_1_to_5_is_refused(severity):
    with pytest.raises(ValueError, match="from 1 to 5"):
        corrupt(IMAGES, "fog", severity)


def test_a_misspelt_name_names_the_nearest():
    with pytest.raises(ValueError, match="do you mean gaussian_blur"):
        corrupt(IMAGES, "gausian_blur", 1)


@settings(max_examples=15)
@given(data=st.data())
def test_any_images_give_images_of_the_same_shape(data):
    name = data.draw(st.sampled_from([name for name in CORRUPTIONS if name != "frost"]))
    points = data.draw(st.integers(0, 3))
    levels = st.sampled_from([0, 1, 127, 128, 254, 255])
    images = data.draw(arrays(np.uint8, (points, 32, 32, 3), elements=levels, fill=levels))
    before = images.copy()
    result = corrupt(images, name, data.draw(st.sampled_from(SEVERITIES)))
    assert (result.shape, result.dtype) == (images.shape, np.uint8)
    assert np.array_equal(images, before)


@settings(max_examples=25)
@given(
    shape=st.lists(st.integers(0, 40), min_size=1, max_size=4).map(tuple),
    kind=st.sampled_from(["u1", "i8", "f4"]),
)
def test_images_of_another_kind_are_refused(shape, kind):
    if shape[1:] != (32, 32, 3) or kind != "u1":
        with pytest.raises(ValueError, match="32x32 colour images in 8 bits"):
            corrupt(np.zeros(shape, kind), "contrast", 1)


def test_arrays_in_another_order_are_read_as_what_they_hold():
    planes = np.ascontiguousarray(IMAGES.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1)
    for name in ("contrast", "jpeg_compression", "motion_blur", "gaussian_noise"):
        assert np.array_equal(corrupt(planes, name, 5), corrupt(IMAGES, name, 5))


FACTORS = sorted({float(f) for (end,) in CONSTANTS["zoom_blur"] for f in np.arange(1, end, 0.01)})


@pytest.mark.parametrize("factor", [*FACTORS, 1.75, 2.25])
def test_zoom_is_scipys(factor):
    images = RNG.random((2, 32, 32, 3))
    width = int(np.ceil(32 / factor))
    start = (32 - width) // 2
    middle = images[:, start : start + width, start : start + width]
    large = ndimage.zoom(middle, (1, factor, factor, 1), order=1)
    cut = (large.shape[1] - 32) // 2
    expected = large[:, cut : cut + 32, cut : cut + 32]
    np.testing.assert_allclose(zoomed(images, np.array([factor])), expected, atol=4e-16, rtol=0)


@pytest.mark.parametrize("border", ["mirror", "reflect", "nearest"])
def test_sampling_between_pixels_is_scipys(border):
    images = RNG.random((3, 32, 32, 2))
    row, column = RNG.uniform(-40, 70, (2, 3, 32, 32))
    for image, r, c, found in zip(
        images, row, column, sampled(images, row, column, border), strict=True
    ):
        for channel in range(2):
            expected = ndimage.map_coordinates(image[..., channel], [r, c], order=1, mode=border)
            np.testing.assert_allclose(found[..., channel], expected, atol=1e-13)


def test_distance_is_the_least_over_all_marked_pixels():
    marked = RNG.random((20, 32, 32)) < np.linspace(0.0, 0.05, 20)[:, None, None]
    found = water.distance(marked)
    for one, lengths in zip(marked, found, strict=True):
        if one.any():
            np.testing.assert_allclose(lengths, _least(one), atol=1e-9)
        else:
            assert lengths.min() > 1e6


def _least(marked: np.ndarray) -> np.ndarray:
    h, w = np.mgrid[:32, :32]
    best = np.full((32, 32), np.inf)
    for row, column in np.argwhere(marked):
        pair = np.stack([abs(h - row), abs(w - column)])
        near, far = pair.min(0), pair.max(0)
        steps = 2.1969 * near + far - 2 * near
        slanted = 2.1969 * (far - near) + 1.4 * (2 * near - far)
        best = np.minimum(best, np.where(far >= 2 * near, steps, slanted))
    return best


def test_edges_are_where_a_square_ends_and_nowhere_else():
    images = np.zeros((3, 32, 32), np.uint8)
    images[0, 10:20, 10:20] = 200
    images[1, 10:20, 10:20] = 8  # slopes of 32, and of 48 at the corners, are not edges
    images[2, 10:20, 10:20] = (
        24  # slopes of 96 and 144 are weak, and not connected to a strong edge
    )
    found = water.edges(images)
    assert not found[1:].any()
    ring = np.zeros((32, 32), bool)
    ring[8:22, 8:22] = True
    ring[12:18, 12:18] = False
    assert found[0].any()
    assert not (found[0] & ~ring).any()


def test_equalised_levels_run_from_0_to_255_and_flat_images_stay():
    images = np.full((2, 32, 32), 7, np.uint8)
    images[1] = np.arange(1024).reshape(32, 32) // 256 * 3
    even = water.equalised(images)
    assert (even[0] == 7).all()
    assert np.unique(even[1]).tolist() == [0, 85, 170, 255]
