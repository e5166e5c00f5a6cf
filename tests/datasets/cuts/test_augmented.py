"""Crops and mirror images, and the sources of the training images that they augment."""

import collections
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from bnnbench.datasets.base import check_fold
from bnnbench.datasets.cuts.augmented import Augmented, CropsAndMirrors
from bnnbench.datasets.cuts.held_out import HeldOut
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.generated.curves import Sine
from bnnbench.datasets.reading import images
from tests.methods.problems import stream


@dataclass(frozen=True)
class Squares:
    """Forty images in two colours, of random intensities."""

    name: str = "squares"
    folds: int = 1
    origin: str = "original"
    licence: str = "none"
    bytes: int = 0
    classes: int = 2

    def images(self, part):
        rng = np.random.default_rng(part == "train")
        return rng.integers(0, 256, (40, 6, 5, 2), dtype=np.uint8), np.arange(40) % 2

    def load(self, fold):
        check_fold(self, fold)
        return images.load(self, fold)

    def missing(self, part=None):
        return ()

    def fetch(self, part=None): ...

    def fallbacks(self, part=None):
        return ()


def crops(image, padding, fill):
    """Return every crop of an image by hand, plain and mirrored."""
    channels, height, width = image.shape
    found = {}
    for top in range(2 * padding + 1):
        for left in range(2 * padding + 1):
            crop = torch.empty_like(image)
            for c in range(channels):
                for row in range(height):
                    for column in range(width):
                        y, x = top + row - padding, left + column - padding
                        inside = 0 <= y < height and 0 <= x < width
                        crop[c, row, column] = image[c, y, x] if inside else fill[c]
            found[top, left, False] = crop
            found[top, left, True] = crop.flip(2)
    return found


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_comes_out_are_all_crops_and_their_mirror_images_equally_often(dtype):
    image = torch.arange(24, dtype=dtype).view(2, 3, 4)
    fill = (-1.0, -2.0)
    possible = {tuple(c.flatten().tolist()): k for k, c in crops(image, 1, fill).items()}
    shown = CropsAndMirrors(1, fill)(image.expand(9000, -1, -1, -1), stream(0))
    assert shown.dtype == dtype
    counts = collections.Counter(possible[tuple(one.flatten().tolist())] for one in shown)
    assert len(counts) == 18
    chi_squared = sum((count - 500) ** 2 / 500 for count in counts.values())
    assert chi_squared < 45  # 17 degrees of freedom: 2.4e-4


def test_every_image_has_a_crop_of_its_own_and_none_is_changed_in_place():
    several = torch.randn(50, 3, 8, 8, generator=stream(1))
    before = several.clone()
    shown = CropsAndMirrors(2)(several, stream(2))
    assert torch.equal(several, before)
    for image, own in zip(several[:5], shown[:5], strict=True):
        assert any(torch.equal(own, crop) for crop in crops(image, 2, (0.0,) * 3).values())
    assert torch.equal(shown, CropsAndMirrors(2)(several, stream(2)))
    assert not torch.equal(shown, CropsAndMirrors(2)(several, stream(3)))


def test_without_a_border_images_are_mirrored_alone():
    several = torch.randn(20, 1, 4, 4, generator=stream(1))
    shown = CropsAndMirrors(0)(several, stream(2))
    mirrored = [torch.equal(a, b.flip(2)) for a, b in zip(shown, several, strict=True)]
    plain = [torch.equal(a, b) for a, b in zip(shown, several, strict=True)]
    assert all(a != b for a, b in zip(mirrored, plain, strict=True))
    assert 0 < sum(mirrored) < 20


def test_the_border_is_black_and_test_images_stay_as_they_are():
    data = Augmented(Squares(), padding=6).load(0)
    plain = Squares().load(0)
    assert torch.equal(data.train.inputs, plain.train.inputs)
    assert torch.equal(data.test.inputs, plain.test.inputs)
    assert data.test.augmentation is None
    assert data.train.augmentation is not None
    shown = data.train.augmentation(data.train.inputs, stream(0))
    intensities = data.scaling.invert(shown)
    # A border of 6 around 6 x 5 pixels: most crops contain part of it.
    black = intensities.abs() < 1e-6
    assert black.any((1, 2, 3)).float().mean() > 0.9
    assert intensities.min() > -1e-6
    assert intensities.max() < 1 + 1e-6


@pytest.mark.parametrize(
    "cut",
    [
        lambda source: Limited(source, train=10),
        lambda source: HeldOut(source),
    ],
)
def test_sources_cut_from_it_are_augmented_on_their_own_scale(cut):
    data = cut(Augmented(Squares())).load(0)
    (expected,) = {data.scaling.apply(torch.zeros(2, 1, 1))[0].item()}
    assert data.train.augmentation.fill[0] == pytest.approx(expected)
    assert cut(Squares()).load(0).train.augmentation is None


def test_rows_and_devices_keep_the_augmentation():
    train = Augmented(Squares()).load(0).train
    assert train.rows(slice(3)).augmentation == train.augmentation
    assert train.to("cpu").augmentation == train.augmentation


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="0 pixels or more"):
        CropsAndMirrors(-1)
    with pytest.raises(ValueError, match="needed a source of images; got"):
        Augmented(Sine())
