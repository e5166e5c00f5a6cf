"""What is scored: foreign images under the known preprocessing, turned images."""

import math

import numpy as np
import pytest
import scipy.ndimage
import torch

from datasets.cifar100 import Cifar100
from datasets.conditions import Clean, Condition, OutOfDistribution, Rotated, rotate
from datasets.stand_ins import DiabetesAsUci, DigitsAsCifar10, DigitsAsMnist, PhotographCrops
from datasets.svhn import Svhn

RNG = np.random.default_rng(3)


def some_images(*shape: int) -> torch.Tensor:
    return torch.from_numpy(RNG.random((4, 2, *shape)))


def test_names_say_what_is_scored():
    conditions = (Clean(), OutOfDistribution(Svhn()), Rotated(60), Rotated(22.5))
    assert [c.name for c in conditions] == ["clean", "ood_svhn", "rotated_60", "rotated_22.5"]
    assert all(isinstance(c, Condition) for c in conditions)


def test_clean_is_the_test_split():
    data = DiabetesAsUci().load(0)
    assert Clean().select(data) is data.test
    assert Clean().origin(data) == "stand-in"


def test_foreign_images_follow_the_known_under_the_known_scaling():
    data = DigitsAsCifar10().load(0)
    split = OutOfDistribution(PhotographCrops()).select(data)
    assert split.targets.tolist() == [0] * 360 + [1] * 520
    assert split.inputs[:360].equal(data.test.inputs)
    raw = PhotographCrops().images("test")[0].transpose(0, 3, 1, 2) / 255
    back = data.scaling.invert(split.inputs[360:].double())
    np.testing.assert_allclose(back, raw, atol=1e-6)


def test_grey_foreign_images_are_repeated_for_a_network_that_sees_colours():
    data = DigitsAsCifar10().load(0)
    split = OutOfDistribution(PhotographCrops(grey=True)).select(data)
    back = data.scaling.invert(split.inputs[360:].double())
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


def test_rows_of_a_table_cannot_be_turned():
    with pytest.raises(ValueError, match="needs images"):
        Rotated(10).select(DiabetesAsUci().load(0))
