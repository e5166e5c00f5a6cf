"""Known effects of each corruption on flat images and on a single white pixel, by severity."""

import numpy as np
import pytest

from bnnbench.datasets.corruptions import corrupt
from bnnbench.datasets.corruptions.constants import CONSTANTS, SEVERITIES
from bnnbench.datasets.corruptions.kinds.blur import disk
from bnnbench.datasets.corruptions.kinds.weather import DRAWS, plasma

GREY = 128
MANY = 200


def flat(level: int, count: int = MANY) -> np.ndarray:
    return np.full((count, 32, 32, 3), level, np.uint8)


def within(values: np.ndarray, expected: float, rounding: float) -> bool:
    """Return whether a mean over images has the expected value, within five standard errors."""
    each = values.reshape(len(values), -1).mean(1)
    return abs(each.mean() - expected) < rounding + 5 * each.std() / len(each) ** 0.5


@pytest.mark.parametrize(
    ("name", "stds"),
    [
        ("gaussian_noise", (10.20, 15.30, 20.40, 22.95, 25.50)),
        ("shot_noise", (8.12, 11.28, 18.08, 20.88, 25.54)),
        ("speckle_noise", (7.68, 12.80, 15.36, 20.48, 25.60)),
    ],
)
def test_noise_loses_half_a_level_on_grey_and_has_its_std(name, stds):
    for severity, std in zip(SEVERITIES, stds, strict=True):
        noisy = corrupt(flat(GREY), name, severity).astype(float)
        assert within(noisy, 127.5, 0.02)
        # 0.0016 is the relative standard error of the std of 614,400 values, with a margin.
        assert noisy.std() == pytest.approx(std, rel=0.005, abs=0.01)


def test_impulses_replace_their_share_one_half_by_white():
    for severity, (share,) in zip(SEVERITIES, CONSTANTS["impulse_noise"], strict=True):
        noisy = corrupt(flat(GREY), "impulse_noise", severity)
        error = 5 * (share / noisy.size) ** 0.5
        assert (noisy != GREY).mean() == pytest.approx(share, abs=error)
        assert (noisy == 255).mean() == pytest.approx(share / 2, abs=error)
        assert set(np.unique(noisy)) == {0, GREY, 255}


def test_fog_darkens_grey_and_is_nowhere_brighter():
    for severity, mean in zip(SEVERITIES, (109.1, 96.1, 89.3, 85.0, 79.2), strict=True):
        foggy = corrupt(flat(GREY), "fog", severity)
        assert within(foggy.astype(float), mean, 0.05)
        assert foggy.max() == GREY
        assert corrupt(flat(0, 5), "fog", severity).max() == 0


@pytest.mark.parametrize(
    ("severity", "std", "step"),
    [(2, 0.176, 0.0202), (3, 0.180, 0.0213), (4, 0.188, 0.0243), (5, 0.193, 0.0287)],
)
def test_the_fractal_spans_0_to_1_and_roughens_with_severity(severity, std, step):
    rng, (_, decay) = np.random.default_rng(severity), CONSTANTS["fog"][severity - 1]
    maps = plasma(rng.uniform(-1, 1, (4000, DRAWS)), decay)
    assert (maps.min((1, 2)) == 0).all()
    assert (maps.max((1, 2)) == 1).all()
    assert within(maps, 0.5, 0.005)
    assert within((maps - 0.5) ** 2, std**2, 2 * std * 0.0005)
    assert within(abs(np.diff(maps, axis=2)), step, 0.00015)


@pytest.mark.parametrize(
    ("name", "means"),
    [
        ("snow", (8.0, 18.3, 20.8, 31.1, 45.1)),
        ("frost", (31.9, 48.2, 64.3, 64.1, 72.1)),
        ("spatter", (1.13, 3.01, 7.31, 1.45, 2.43)),
    ],
)
def test_what_falls_on_black_images(name, means, request):
    if name == "frost":
        request.getfixturevalue("frost_textures")
    for severity, mean in zip(SEVERITIES, means, strict=True):
        fallen = corrupt(flat(0, 400), name, severity).astype(float)
        assert within(fallen, mean, 0.15 if name == "frost" else 0.05)


def test_spatter_touches_its_share_of_the_pixels():
    for severity, share in zip(SEVERITIES, (0.026, 0.066, 0.184, 0.041, 0.069), strict=True):
        touched = corrupt(flat(0, 400), "spatter", severity).any(-1)
        assert within(touched.astype(float), share, 0.001)


@pytest.mark.parametrize(
    "name",
    [
        *("gaussian_blur", "glass_blur", "defocus_blur", "motion_blur", "zoom_blur"),
        *("elastic_transform", "pixelate", "contrast", "brightness", "jpeg_compression"),
    ],
)
def test_white_stays_white(name):
    for severity in SEVERITIES:
        assert corrupt(flat(255, 3), name, severity).min() == 255


def test_white_loses_what_saturation_adds():
    whites = [corrupt(flat(255, 1), "saturate", severity)[0, 0, 0] for severity in SEVERITIES]
    assert [white.max() for white in whites] == [255] * 5
    assert [white.min() for white in whites] == [255, 255, 255, 229, 204]


def row_of_a_white_pixel(name: str, severity: int) -> list[int]:
    image = flat(0, 1)
    image[0, 16, 16] = 255
    return corrupt(image, name, severity)[0, 16, 13:20, 0].tolist()


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        (
            "gaussian_blur",
            "0 0 9 215 9 0 0|0 0 28 112 28 0 0|0 1 29 82 29 1 0|0 2 29 63 29 2 0|0 5 24 40 24 5 0",
        ),
        (
            "zoom_blur",
            "0 0 0 119 25 0 0|0 0 1 123 36 0 0|0 0 1 110 35 0 0|0 0 2 105 44 0 0|0 0 2 96 41 0 0",
        ),
    ],
)
def test_a_white_pixel_is_spread_along_its_row(name, rows):
    for severity, row in zip(SEVERITIES, rows.split("|"), strict=True):
        assert row_of_a_white_pixel(name, severity) == [int(level) for level in row.split()]


@pytest.mark.parametrize(
    ("severity", "above", "beside"),
    [
        (1, (0, 9, 0), (9, 215, 9)),
        (2, (2, 21, 2), (21, 157, 21)),
        (3, (7, 28, 7), (28, 113, 28)),
        (4, (0, 50, 0), (50, 51, 50)),
        (5, (28, 28, 28), (28, 28, 28)),
    ],
)
def test_a_white_pixel_out_of_focus(severity, above, beside):
    image = flat(0, 1)
    image[0, 16, 16] = 255
    blurred = corrupt(image, "defocus_blur", severity)[0, ..., 1]
    assert [tuple(row) for row in blurred[15:18, 15:18]] == [above, beside, above]
    blurred[15:18, 15:18] = 0
    assert blurred.max() == 0


@pytest.mark.parametrize(
    ("severity", "above", "beside"),
    [
        (1, (0.00163118, 0.03712553), (0.03712553, 0.84497315)),
        (2, (0.01134374, 0.08381951), (0.08381951, 0.61934704)),
        (3, (0.02768181, 0.1110149), (0.1110149, 0.44521323)),
        (4, (0.0, 0.2), (0.2, 0.2)),
        (5, (1 / 9, 1 / 9), (1 / 9, 1 / 9)),
    ],
)
def test_the_disk_of_focus_sums_to_just_above_1(severity, above, beside):
    kernel = disk(*CONSTANTS["defocus_blur"][severity - 1])
    middle = len(kernel) // 2
    expected = np.array([[*above, above[0]], [*beside, beside[0]], [*above, above[0]]])
    inner = kernel[middle - 1 : middle + 2, middle - 1 : middle + 2]
    np.testing.assert_allclose(inner, expected, atol=2.5e-6 if severity == 4 else 5e-9)
    excess = (0.14, 1.9, 4.5, 1.8, 0.75)[severity - 1] * 1e-8
    assert kernel.sum() - 1 == pytest.approx(excess, abs=0.06e-8)
    assert kernel.sum() > 1
