"""The first official test images: the size of each corruption, and the official checksums."""

import hashlib
import io

import numpy as np
import pytest
from PIL import features

from bnnbench.datasets.corruptions import CORRUPTIONS, corrupt
from bnnbench.datasets.corruptions.constants import SEVERITIES
from bnnbench.datasets.corruptions.files import official
from bnnbench.datasets.corruptions.files.checksums import CIFAR10_C, CIFAR10_C_BLOCKS

FIRST = 200

# name: PSNR in dB over all 200 images, mean absolute difference in levels, the largest std of
# either from one seed to another (0 where nothing is drawn), mean level
EXPECTED = {
    "gaussian_noise": (
        (28.08, 24.63, 22.20, 21.22, 20.34),
        (7.97, 11.86, 15.68, 17.56, 19.42),
        (0.01, 0.02),
        (122.1, 122.1, 122.1, 122.1, 122.1),
    ),
    "shot_noise": (
        (30.32, 27.37, 23.50, 22.29, 20.61),
        (5.91, 8.31, 13.01, 14.96, 18.18),
        (0.01, 0.02),
        (122.0, 121.9, 121.7, 121.6, 121.3),
    ),
    "impulse_noise": (
        (25.04, 22.04, 20.27, 18.03, 16.57),
        (1.27, 2.53, 3.79, 6.35, 8.89),
        (0.07, 0.05),
        (122.6, 122.7, 122.7, 122.8, 122.9),
    ),
    "defocus_blur": (
        (41.87, 34.05, 30.46, 28.13, 25.12),
        (1.37, 3.31, 4.99, 6.51, 9.26),
        (0, 0),
        (122.1, 122.1, 122.1, 122.1, 122.1),
    ),
    "glass_blur": (
        (21.08, 21.20, 21.94, 17.98, 18.58),
        (11.24, 11.36, 11.14, 18.22, 17.47),
        (0.03, 0.05),
        (122.9, 121.9, 121.9, 122.3, 122.3),
    ),
    "motion_blur": (
        (26.87, 23.63, 21.82, 21.82, 20.61),
        (7.02, 10.44, 13.11, 13.11, 15.30),
        (0.12, 0.10),
        (122.0, 122.0, 121.9, 121.9, 121.9),
    ),
    "zoom_blur": (
        (24.84, 23.47, 22.04, 20.83, 19.85),
        (8.85, 10.39, 12.42, 14.50, 16.51),
        (0, 0),
        (122.2, 122.0, 121.9, 121.7, 121.6),
    ),
    "snow": (
        (25.54, 19.61, 18.47, 15.70, 13.19),
        (10.67, 23.48, 25.12, 36.67, 50.79),
        (0.11, 0.44),
        (133.3, 146.1, 147.7, 159.3, 173.4),
    ),
    "frost": (
        (17.96, 14.56, 13.47, 14.17, 14.21),
        (30.31, 44.55, 49.13, 44.53, 43.05),
        (0.21, 1.27),
        (152.9, 167.1, 171.6, 166.7, 163.5),
    ),
    "fog": (
        (25.63, 19.70, 17.49, 16.06, 14.43),
        (10.91, 21.61, 27.83, 32.71, 39.40),
        (0.11, 0.33),
        (121.8, 121.6, 121.5, 121.4, 121.3),
    ),
    "brightness": (
        (27.80, 21.63, 18.16, 15.78, 12.61),
        (9.98, 20.16, 29.86, 39.02, 55.40),
        (0, 0),
        (132.6, 142.7, 152.4, 161.6, 178.0),
    ),
    "contrast": (
        (25.40, 19.39, 17.81, 16.47, 14.78),
        (10.93, 21.85, 26.22, 30.59, 37.14),
        (0, 0),
        (122.1, 122.1, 122.1, 122.1, 122.1),
    ),
    "elastic_transform": (
        (17.03, 17.74, 18.64, 19.35, 20.98),
        (21.88, 19.96, 17.96, 16.50, 13.58),
        (0.10, 0.22),
        (122.0, 122.0, 122.0, 122.0, 122.0),
    ),
    "pixelate": (
        (32.33, 29.72, 28.45, 26.65, 25.05),
        (1.81, 3.35, 4.21, 6.26, 8.53),
        (0, 0),
        (122.6, 122.7, 122.7, 122.8, 123.0),
    ),
    "jpeg_compression": (
        (30.66, 28.84, 28.30, 27.78, 27.14),
        (5.29, 6.59, 7.03, 7.48, 8.09),
        (0, 0),
        (122.6, 122.6, 122.6, 122.5, 122.6),
    ),
    "speckle_noise": (
        (30.01, 25.72, 24.20, 21.82, 20.00),
        (5.70, 9.36, 11.16, 14.70, 18.17),
        (0.01, 0.02),
        (121.9, 121.7, 121.5, 121.1, 120.7),
    ),
    "gaussian_blur": (
        (42.17, 30.62, 28.50, 27.06, 25.07),
        (1.33, 4.91, 6.28, 7.44, 9.45),
        (0, 0),
        (122.1, 122.1, 122.1, 122.1, 122.1),
    ),
    "spatter": (
        (30.28, 26.01, 22.63, 22.62, 20.52),
        (1.02, 2.73, 6.71, 3.13, 5.17),
        (0.13, 0.11),
        (123.6, 125.3, 129.3, 119.6, 117.7),
    ),
    "saturate": (
        (21.55, 19.34, 25.30, 18.35, 15.28),
        (11.45, 14.80, 7.96, 20.21, 29.46),
        (0, 0),
        (134.0, 137.4, 114.6, 102.4, 93.1),
    ),
}

ROUNDING = 0.0051
QUICKLY_SUMMED = ("gaussian_blur", "contrast")
"""The benchmarks check the sums of the other corruptions."""


def test_every_corruption_is_expected_to_do_something():
    assert EXPECTED.keys() == CORRUPTIONS.keys()


@pytest.mark.long
@pytest.mark.parametrize("name", EXPECTED)
def test_real_images_are_taken_as_far_as_they_should_be(name, cifar10, request):
    if name == "frost":
        request.getfixturevalue("frost_textures")
    images = cifar10[:FIRST]
    psnr, distance, (psnr_std, distance_std), level = EXPECTED[name]
    turbo = features.version("libjpeg_turbo") or ""
    slack = 0.2 if name == "jpeg_compression" and not turbo.startswith("3.") else ROUNDING
    for severity in SEVERITIES:
        result = corrupt(images, name, severity)
        change = result.astype(float) - images
        found = 10 * np.log10(255**2 / (change**2).mean())
        assert found == pytest.approx(psnr[severity - 1], abs=4 * psnr_std + slack)
        assert abs(change).mean() == pytest.approx(
            distance[severity - 1], abs=4 * distance_std + slack
        )
        # The mean level of a random corruption varies at most as much as its mean distance.
        assert result.mean() == pytest.approx(level[severity - 1], abs=4 * distance_std + 0.051)


@pytest.mark.long
@pytest.mark.parametrize("name", QUICKLY_SUMMED)
def test_all_test_images_give_the_official_bytes(name, cifar10):
    assert len(cifar10) == official.ROWS
    assert official_sum(cifar10, name) == (CIFAR10_C[name], CIFAR10_C_BLOCKS[name])


def official_sum(images: np.ndarray, name: str) -> tuple[str, tuple[str, ...]]:
    """Return the MD5 of the file and of the pixels of each severity."""
    header, shape = io.BytesIO(), (5 * len(images), 32, 32, 3)
    np.lib.format.write_array_header_1_0(
        header, {"descr": "|u1", "fortran_order": False, "shape": shape}
    )
    digest = hashlib.md5(header.getvalue(), usedforsecurity=False)
    blocks = []
    for severity in SEVERITIES:
        block = corrupt(images, name, severity)
        digest.update(block.data)
        blocks.append(official.md5(block))
    return digest.hexdigest(), tuple(blocks)
