"""Every corruption of four artificial images with artificial draws, as in another program.

That program reproduces the official files byte for byte, or draw for draw, where possible.
"""

import hashlib
import platform

import numpy as np
import pytest

from bnnbench.datasets.corruptions import CORRUPTIONS
from bnnbench.datasets.corruptions.constants import CONSTANTS
from bnnbench.datasets.corruptions.files.textures import textures
from bnnbench.datasets.corruptions.kinds.weather import frost
from bnnbench.datasets.corruptions.levels import intensities
from bnnbench.datasets.corruptions.operations.filters import offsets, weights

ROW, COLUMN = np.mgrid[:32, :32]


def four_images() -> np.ndarray:
    n, h, w, c = np.ogrid[:4, :32, :32, :3]
    levels = h * w * (n + 1) + 5 * h * (c + 1) + 3 * w * n + 17 * c
    return (levels % 256).astype(np.uint8)


def four(draw: object) -> np.ndarray:
    """Return the same draw for each of the four images."""
    return np.stack([np.asarray(draw)] * 4)


def normal(*channels: int) -> np.ndarray:
    phase = 1.7 * ROW + 0.9 * COLUMN
    return 2 * np.sin(phase[..., None] + 2.1 * np.arange(3) if channels else phase)


def shifts(exchanges: int) -> np.ndarray:
    h, w = ROW[2:, 2:], COLUMN[2:, 2:]
    each = [[-((h + w + t) % 2), -((h * w + t) % 2)] for t in range(exchanges)]
    return np.array(each, np.int8)


def fractal() -> np.ndarray:
    sides = [32 // step for step in (32, 16, 8, 4, 2) for _ in range(3)]
    phases = [np.add.outer(2 * np.arange(n), 3 * np.arange(n)) for n in sides]
    return np.concatenate([np.sin(k + phase).ravel() for k, phase in enumerate(phases, 1)])


CORNERS = np.sin(1 + 2 * np.arange(3)[:, None] + np.arange(2))
FIELDS = np.stack([np.sin(0.9 * ROW + 1.3 * COLUMN), np.cos(1.1 * ROW - 0.7 * COLUMN)])
PIECE = (0.1, 10.5 / (120 - 32), 20.5 / (180 - 32))  # texture 1, row 10, column 20

DRAWS = {
    "gaussian_noise": lambda *_: [normal(3)],
    "speckle_noise": lambda *_: [normal(3)],
    "glass_blur": lambda std, exchanges: [shifts(exchanges)],
    "motion_blur": lambda *_: [30.0],
    "snow": lambda *_: [normal(), -100.0],
    "frost": lambda *_: [PIECE],
    "fog": lambda *_: [fractal()],
    "elastic_transform": lambda *_: [CORNERS, FIELDS],
    "spatter": lambda *_: [normal()],
}

# name: md5 of all five severities, mean level of each
EXPECTED = {
    "gaussian_noise": (
        "c77b69dd744886d8fc0cf7f9957e44a7",
        (123.7485, 123.8223, 123.8928, 123.9520, 124.0076),
    ),
    "speckle_noise": (
        "659dd1a5d2e42e7ba4731fb2c68fb80c",
        (123.2703, 122.6677, 122.2787, 121.3224, 120.1641),
    ),
    "defocus_blur": (
        "184b3e5fc2173ce478386b6c87833b12",
        (123.8826, 123.9590, 124.0098, 124.0007, 124.2029),
    ),
    "glass_blur": (
        "ccbba6b44ea2dcfe8ca2d6af2be233f1",
        (124.0260, 123.2104, 123.0547, 122.4910, 122.2828),
    ),
    "motion_blur": (
        "74fb4920889d30c02661b68e7a134e0b",
        (124.0553, 124.4169, 124.7272, 124.7272, 124.9857),
    ),
    "zoom_blur": (
        "161854e3f5f30bdbf1e9e802f036c735",
        (123.5155, 124.3367, 124.6967, 125.2000, 125.5696),
    ),
    "snow": (
        "a5731893fcf260baf6e07ebc42e24bbe",
        (133.0483, 142.2621, 172.6041, 199.2065, 223.5303),
    ),
    "frost": (
        "7ed0b08a9993c4bcfd91ff955ab0b6f4",
        (148.4509, 159.7196, 161.3405, 156.1797, 151.0833),
    ),
    "fog": (
        "d2b361c4903580865071fc7c3d7272ea",
        (124.8928, 126.1085, 126.8796, 127.6291, 128.6160),
    ),
    "brightness": (
        "1514457742a21dac3ea63de8a5ced957",
        (131.1155, 137.5982, 143.0387, 147.4443, 153.6226),
    ),
    "contrast": (
        "c7948ae875e7933c7abed5bcbb29d127",
        (123.7212, 123.7930, 123.6614, 123.6676, 123.6728),
    ),
    "elastic_transform": (
        "089148bc9caa058cb7eea4ba273962a8",
        (127.0942, 126.9336, 126.7653, 126.2843, 125.5461),
    ),
    "pixelate": (
        "9c7d43842f8a742109ef0f013623fcde",
        (124.2493, 124.3307, 124.3709, 124.4896, 124.6432),
    ),
    "jpeg_compression": (
        "00f5ec125414366498fae0f66d8bf37d",
        (124.2309, 124.0340, 123.9993, 124.0975, 124.4942),
    ),
    "gaussian_blur": (
        "11961e126a5fa56648390990ee18dc50",
        (123.7116, 123.7313, 123.6827, 123.6660, 123.6093),
    ),
    "spatter": (
        "e344c6a61c4b152255b60048635d22da",
        (127.1947, 129.6646, 124.9508, 123.0639, 120.1084),
    ),
    "saturate": (
        "c74d9c2b2d778b19c3190bb4b3099fb9",
        (173.3973, 187.6644, 104.4068, 99.5215, 98.2179),
    ),
}

IN_LAW_ONLY = ("shot_noise", "impulse_noise")


def corrupted(name: str) -> np.ndarray:
    images, outputs = four_images(), []
    for constants in CONSTANTS[name]:
        draws = DRAWS[name](*constants) if name in DRAWS else []
        outputs.append(CORRUPTIONS[name].apply(images, *map(four, draws), *constants))
    assert np.array_equal(images, four_images()), "the input was changed"
    return np.stack(outputs)


def test_the_four_images_are_the_right_ones():
    assert hashlib.md5(four_images().tobytes()).hexdigest() == "532662936c3b3921cc38980abb2bc18b"


def test_every_corruption_has_a_vector_or_is_tested_in_law():
    assert {*EXPECTED, *IN_LAW_ONLY} == CORRUPTIONS.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_four_images_come_out_as_from_another_program(name, request):
    if name == "frost":
        request.getfixturevalue("frost_textures")
    result, (md5, means) = corrupted(name), EXPECTED[name]
    tolerance = 0.05 if name == "jpeg_compression" else 0.005
    np.testing.assert_allclose(result.mean((1, 2, 3, 4)), means, atol=tolerance)
    # Sines and sums may differ in their last bit on other machines, and JPEG between libraries.
    if platform.machine() == "x86_64" and name != "jpeg_compression":
        assert hashlib.md5(result.tobytes()).hexdigest() == md5


def test_photons_are_counted_against_those_that_make_white():
    counts = np.zeros((1, 32, 32, 3), int)
    counts[0, 0, :5, 0] = 0, 1, 49, 50, 60
    shown = CORRUPTIONS["shot_noise"].apply(four_images()[:1], counts, 50)
    assert shown[0, 0, :5, 0].tolist() == [0, 5, 249, 255, 255]


def test_impulses_are_half_black_half_white_and_all_other_values_stay():
    images, u = four_images(), np.full((4, 32, 32, 3), 0.5)
    u[0, 0, 0], u[0, 0, 1] = 0.034, 0.036
    noisy = CORRUPTIONS["impulse_noise"].apply(images, u, 0.07)
    assert noisy[0, 0, 0].tolist() == [0] * 3
    assert noisy[0, 0, 1].tolist() == [255] * 3
    noisy[0, 0, :2] = images[0, 0, :2]
    assert np.array_equal(noisy, images)


@pytest.mark.parametrize(
    ("radius", "std", "expected"),
    [
        (6, 1, (0.570348, 0.345934, 0.077188, 0.006336)),
        (6, 1.5, (0.420173, 0.336448, 0.172738, 0.056864)),
        (6, 2, (0.332598, 0.293517, 0.201731, 0.107979)),
        (8, 2, (0.332598, 0.293517, 0.201731, 0.107979)),
        (9, 2.5, (0.275233, 0.254072, 0.199860, 0.133970)),
    ],
)
def test_motion_has_the_weights_of_half_a_normal_density(radius, std, expected):
    found = weights(radius, std)
    assert len(found) == 2 * radius + 1
    np.testing.assert_allclose(found[:4], expected, atol=5e-7)
    assert found.sum() == pytest.approx(1, abs=1e-15)


def test_motion_reads_along_its_direction_rows_counted_downwards():
    right, down = offsets(7, np.array([30.0]))
    pairs = list(zip(right[0].tolist(), down[0].tolist(), strict=True))
    assert pairs == [(0, 0), (1, 0), (2, 1), (3, 1), (3, 2), (4, 2), (5, 3)]
    right, down = offsets(13, np.array([45.0, -90.0]))
    assert right[0].tolist() == down[0].tolist() == [0, 1, 1, 2, 3, 4, 4, 5, 6, 6, 7, 8, 8]
    assert right[1].tolist() == [0] * 13
    assert down[1].tolist() == [-i for i in range(13)]


def test_a_choice_of_texture_is_uniform_over_five_and_never_the_last_row(frost_textures):
    black = np.zeros((2, 32, 32, 3), np.uint8)
    ends = np.array([[0.0, 0.0, 0.0], [1 - 1e-12] * 3])
    first, last = frost(black, ends, 1, 1)
    known = textures()
    assert len(known) == 5
    assert np.array_equal(first, known[0][:32, :32])
    assert np.array_equal(last, known[4][-33:-1, -33:-1])


def test_textures_are_a_fifth_of_the_photographs(frost_textures):
    shapes = [texture.shape[:2] for texture in textures()]
    assert shapes == [(120, 180), (63, 112), (63, 112), (70, 105), (99, 132)]
    means = [texture.mean() for texture in textures()]
    np.testing.assert_allclose(means, (130.76, 206.90, 206.90, 152.29, 123.42), atol=0.02)


def test_intensities_are_levels_over_255():
    assert intensities(np.array([0, 51, 255], np.uint8)).tolist() == [0, 0.2, 1]
