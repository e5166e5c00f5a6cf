"""Test conditions: out-of-distribution images with the known preprocessing, and rotated images."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.ndimage
import torch
from PIL import Image
from sklearn.metrics import roc_auc_score

from bnnbench.datasets.conditions.base import Condition
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.out_of_distribution import OutOfDistribution
from bnnbench.datasets.conditions.parts import First, Inside
from bnnbench.datasets.conditions.rotated import Rotated, RotatedToNearest, rotate
from bnnbench.datasets.generated.curves import SineFar
from bnnbench.datasets.official.cifar100 import Cifar100
from bnnbench.datasets.official.svhn import Svhn
from bnnbench.datasets.stand_ins import (
    DiabetesAsUci,
    DigitsAsCifar10,
    DigitsAsMnist,
    PhotographCrops,
)

RNG = np.random.default_rng(3)


def some_images(*shape: int) -> torch.Tensor:
    return torch.from_numpy(RNG.random((4, 2, *shape)))


def test_names_say_what_is_scored():
    conditions = {
        "clean": Clean(),
        "inside": Inside(),
        "first_7_rows": First(7),
        "ood_svhn": OutOfDistribution(Svhn()),
        "ood_svhn_unnormalised": OutOfDistribution(Svhn(), normalised=False),
        "rotated_60": Rotated(60),
        "rotated_22.5": Rotated(22.5),
        "rotated_60_nearest": RotatedToNearest(60),
    }
    assert [c.name for c in conditions.values()] == list(conditions)
    assert all(isinstance(c, Condition) for c in conditions.values())


def test_clean_is_the_test_split():
    data = DiabetesAsUci().load(0)
    assert Clean().select(data) is data.test
    assert Clean().origin(data) == "stand-in"


def test_the_first_rows_are_a_subset_of_the_test_split():
    data = replace(DiabetesAsUci().load(0), origin="original")
    few = First(7)
    assert torch.equal(few.select(data).inputs, data.test.inputs[:7])
    assert torch.equal(few.select(data).targets, data.test.targets[:7])
    assert few.origin(data) == "subset"
    assert few.origin(replace(data, origin="stand-in")) == "stand-in"
    assert First(10**6).origin(data) == "original"
    assert len(First(10**6).select(data)) == len(data.test)
    with pytest.raises(ValueError, match="at least 1 row"):
        First(0)


def parted(split):
    """Return the known and the other inputs, each in a fixed order."""
    return [ordered(split.inputs[split.targets == target]) for target in (0, 1)]


def ordered(images):
    """Return images sorted by a sum of their pixels, which does not depend on their order."""
    rows = images.flatten(1).double().numpy()
    return images[np.argsort(rows @ np.random.default_rng(0).normal(size=rows.shape[1]))]


def test_other_images_are_among_the_known_under_the_known_scaling():
    data = DigitsAsCifar10().load(0)
    split = OutOfDistribution(PhotographCrops()).select(data)
    assert split.targets.bincount().tolist() == [360, 520]
    known, foreign = parted(split)
    assert known.equal(ordered(data.test.inputs))
    raw = PhotographCrops().images("test")[0].transpose(0, 3, 1, 2) / 255
    back = ordered(data.scaling.invert(foreign.double()))
    np.testing.assert_allclose(back, ordered(torch.from_numpy(raw)), atol=1e-6)


def test_the_number_of_a_row_says_nothing_of_where_it_is_from():
    data = DigitsAsCifar10().load(0)
    targets = OutOfDistribution(PhotographCrops()).select(data).targets.numpy()
    assert roc_auc_score(targets, np.arange(len(targets))) == pytest.approx(0.5, abs=0.06)


def test_other_images_can_be_left_as_intensities_while_the_known_stay_standardised():
    data = DigitsAsCifar10().load(0)
    condition = OutOfDistribution(Cifar100(), normalised=False)
    condition = condition.with_sources(lambda source: source.fallbacks("test")[0])
    split = condition.select(data)
    assert condition.name == "ood_photograph_crops_unnormalised"
    known, foreign = parted(split)
    assert known.equal(ordered(data.test.inputs))
    raw = PhotographCrops().images("test")[0].transpose(0, 3, 1, 2) / 255
    np.testing.assert_allclose(foreign, ordered(torch.from_numpy(raw)), atol=1e-6)


def test_inside_keeps_the_test_rows_within_the_training_range_and_no_others():
    data = SineFar().load(0)
    x = data.scaling.invert(data.test.inputs.double())[:, 0]
    low, high = SineFar().table(0).train_inputs.min(), SineFar().table(0).train_inputs.max()
    split = Inside().select(data)
    inside = data.scaling.invert(split.inputs.double())[:, 0]
    np.testing.assert_allclose(inside, x[(x >= low) & (x <= high)])
    assert 15 < len(split) < 25
    assert Inside().origin(data) == "generated"


def test_inside_means_every_feature():
    data = DiabetesAsUci().load(0)
    train, test = data.train.inputs.numpy(), data.test.inputs.numpy()
    expected = [
        all(train[:, k].min() <= row[k] <= train[:, k].max() for k in range(train.shape[1]))
        for row in test
    ]
    assert not all(expected)
    assert Inside().select(data).targets.equal(data.test.targets[torch.tensor(expected)])


def test_inside_refuses_data_without_such_rows():
    data = SineFar().load(0)
    beyond = replace(data, test=data.test.rows(slice(0, 10)))
    with pytest.raises(ValueError, match="inside the range"):
        Inside().select(beyond)


def test_grey_images_are_repeated_for_a_network_that_sees_colours():
    data = DigitsAsCifar10().load(0)
    split = OutOfDistribution(PhotographCrops(grey=True)).select(data)
    back = data.scaling.invert(split.inputs[split.targets == 1].double())
    np.testing.assert_allclose(back[:, 0], back[:, 2], atol=1e-6)


@pytest.mark.parametrize(
    ("known", "foreign"),
    [
        (DigitsAsMnist(), PhotographCrops(size=32, grey=True)),
        (DigitsAsMnist(), PhotographCrops(size=28)),
        (DiabetesAsUci(), PhotographCrops()),
    ],
)
def test_images_of_another_shape_are_refused(known, foreign):
    with pytest.raises(ValueError, match="shape"):
        OutOfDistribution(foreign).select(known.load(0))


def test_resolving_changes_source_name_and_origin():
    condition = OutOfDistribution(Cifar100())
    other = condition.with_sources(lambda source: source.fallbacks("test")[0])
    assert condition.sources() == (Cifar100(),)
    assert other.name == "ood_photograph_crops"
    assert other.origin(DigitsAsCifar10().load(0)) == "stand-in"


def test_a_split_is_computed_once_for_each_data_set():
    data = DigitsAsMnist().load(0)
    assert Rotated(15).select(data) is Rotated(15).select(data)
    assert Rotated(15).select(DigitsAsCifar10().load(0)).inputs.shape[1] == 3


@pytest.mark.parametrize("degrees", [0, 10, 45, 60, 90, 137, 180, -30])
@pytest.mark.parametrize("shape", [(28, 28), (9, 14)])
def test_turning_is_scipys_bilinear_rotation_on_a_black_ground(degrees, shape):
    images = some_images(*shape)
    expected = scipy.ndimage.rotate(
        images.numpy(), degrees, axes=(3, 2), reshape=False, order=1, mode="grid-constant"
    )
    np.testing.assert_allclose(rotate(images, degrees), expected, atol=1e-12)


@pytest.mark.parametrize("degrees", range(10, 190, 10))
@pytest.mark.parametrize("shape", [(28, 28), (14, 10)])
def test_turning_to_the_nearest_pixel_is_pillows_rotation(degrees, shape):
    """Torchvision rotates with Pillow, or as here; a few pixels lie between two."""
    images = torch.randint(256, (1, 1, *shape), generator=torch.Generator().manual_seed(0))
    turned = rotate(images.double(), degrees, "nearest")[0, 0]
    expected = np.asarray(Image.fromarray(images[0, 0].numpy().astype(np.uint8)).rotate(degrees))
    assert (turned.numpy() != expected).sum() <= 2


@pytest.mark.parametrize("turns", range(4))
def test_quarter_turns_are_counter_clockwise(turns):
    images = some_images(6, 6)
    expected = torch.rot90(images, turns, dims=(2, 3))
    torch.testing.assert_close(rotate(images, 90 * turns), expected, atol=1e-12, rtol=0)


def test_a_single_pixel_is_spread_as_computed_by_hand():
    images = torch.zeros(1, 1, 28, 28, dtype=torch.float64)
    images[0, 0, 5, 20] = 1
    turned = rotate(images, 30)[0, 0]
    for (row, column), value in {
        (2, 15): 0.131098, (3, 14): 0.120191, (3, 15): 0.801915, (3, 16): 0.029156,
    }.items():  # fmt: skip
        assert math.isclose(float(turned[row, column]), value, abs_tol=5e-7)
    assert float(turned.sum()) < 1.1


def test_turned_images_are_turned_in_intensity_and_black_outside():
    data = DigitsAsMnist().load(0)
    split = Rotated(45).select(data)
    back = data.scaling.invert(split.inputs.double())
    assert back[:, :, 0, 0].abs().max() < 1e-6
    raw = data.scaling.invert(data.test.inputs.double())
    torch.testing.assert_close(back, rotate(raw, 45), atol=1e-6, rtol=0)
    assert split.targets.equal(data.test.targets)


def test_images_turned_to_the_nearest_pixel_have_no_intensities_between():
    data = DigitsAsMnist().load(0)
    raw = data.scaling.invert(data.test.inputs.double())
    back = data.scaling.invert(RotatedToNearest(30).select(data).inputs.double())
    torch.testing.assert_close(back, rotate(raw, 30, "nearest"), atol=1e-6, rtol=0)
    assert len(back.mul(1e4).round().unique()) <= len(raw.mul(1e4).round().unique()) + 1
    assert not torch.allclose(back, rotate(raw, 30), atol=0.1)


def test_rows_of_a_table_cannot_be_turned():
    with pytest.raises(ValueError, match="needs images"):
        Rotated(10).select(DiabetesAsUci().load(0))
