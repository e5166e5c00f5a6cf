"""Corrupted test images as a condition: scored images, origin, and memory."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

from bnnbench.datasets.conditions.base import Condition
from bnnbench.datasets.conditions.corrupted import ALL_19, TEST_15, Corrupted, raw_images
from bnnbench.datasets.corruptions import CORRUPTIONS, corrupt
from bnnbench.datasets.corruptions.files import blocks
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.errors import DataUnavailable
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.datasets.stand_ins import DigitsAsCifar10, DigitsAsMnist


@pytest.fixture
def digits(folder):
    return DigitsAsCifar10().load(0)


def test_names_say_what_is_scored():
    assert Corrupted("fog", 3).name == "corrupted_fog_3"
    assert isinstance(Corrupted("fog", 3), Condition)
    assert len({one.name for one in ALL_19}) == 95
    assert len(TEST_15) == 75
    assert {*TEST_15} < {*ALL_19}
    assert {one.corruption for one in ALL_19} == CORRUPTIONS.keys()


@pytest.mark.parametrize("arguments", [("frog", 1), ("fog", 0), ("fog", 6)])
def test_a_mistake_is_refused_at_once(arguments):
    with pytest.raises(ValueError, match=r"no corruption|from 1 to 5"):
        Corrupted(*arguments)


def test_raw_images_come_back_from_what_the_network_sees(digits):
    assert np.array_equal(raw_images(digits), DigitsAsCifar10().images("test")[0])


def test_the_network_sees_corrupted_images_under_the_known_scaling(digits):
    split = Corrupted("motion_blur", 4).select(digits)
    expected = corrupt(raw_images(digits), "motion_blur", 4).transpose(0, 3, 1, 2) / 255
    np.testing.assert_allclose(digits.scaling.invert(split.inputs.double()), expected, atol=1e-6)
    assert split.targets is digits.test.targets


def test_a_limited_data_set_has_the_same_first_images(digits):
    some = Limited(DigitsAsCifar10(), test=9).load(0)
    first, whole = (Corrupted("snow", 2).select(data) for data in (some, digits))
    np.testing.assert_array_equal(
        raw_images(replace(some, test=first)), raw_images(replace(digits, test=whole))[:9]
    )


def test_stand_ins_stay_stand_ins_and_need_no_textures(digits, monkeypatch):
    monkeypatch.setenv("BNNBENCH_OFFLINE", "1")
    for name in ("fog", "frost", "contrast"):
        assert Corrupted(name, 1).origin(digits) == "stand-in"
    assert len(Corrupted("frost", 1).select(digits)) == len(digits.test)


def test_other_images_than_32x32_in_colour_are_refused(folder):
    with pytest.raises(ValueError, match="32x32 colour images"):
        Corrupted("fog", 1).select(DigitsAsMnist().load(0))


def test_images_of_more_than_8_bits_are_refused(digits):
    odd = replace(digits, test=replace(digits.test, inputs=digits.test.inputs + 0.01))
    with pytest.raises(ValueError, match="8-bit levels"):
        Corrupted("fog", 1).select(odd)


def test_no_split_stays_in_memory(digits):
    seen = [weakref.ref(Corrupted("contrast", s).select(digits).inputs) for s in range(1, 6)]
    gc.collect()
    assert [one() for one in seen] == [None] * 5


@pytest.fixture
def cifar10(data_folder, monkeypatch, tmp_path):
    """Real data in a separate folder, in which blocks are stored."""
    for name in ("cifar-10-batches-py", "frost"):
        if not (data_folder / name).is_dir():
            pytest.skip(f"real data: {data_folder / name} is not there")
        (tmp_path / name).symlink_to(data_folder / name)
    monkeypatch.setenv("BNNBENCH_DATA", str(tmp_path))
    if missing := Cifar10().missing():
        pytest.skip(f"real data: {missing[0]} is not there")
    return tmp_path


@pytest.mark.long
def test_all_real_images_blurred_are_original_and_fogged_are_generated(cifar10):
    data = replace(Limited(Cifar10(), train=10).load(0), origin="original")
    assert Corrupted("gaussian_blur", 1).origin(data) == "original"
    assert len(list((cifar10 / blocks.FOLDER).glob("gaussian_blur_1_*"))) == 1
    assert Corrupted("fog", 1).origin(data) == "generated"
    assert Corrupted("frost", 1).origin(data) == "generated"


@pytest.mark.long
def test_some_real_images_are_a_subset_whatever_is_done_to_them(cifar10):
    data = Limited(Cifar10(), train=10, test=50).load(0)
    for name in ("gaussian_blur", "fog"):
        assert Corrupted(name, 1).origin(data) == "subset"
    split = Corrupted("gaussian_blur", 1).select(data)
    raw = np.ascontiguousarray(Cifar10().images("test")[0][:50])
    assert np.array_equal(raw_images(replace(data, test=split)), corrupt(raw, "gaussian_blur", 1))


def test_frost_on_real_images_without_textures_is_refused_before_any_fit(cifar10, monkeypatch):
    monkeypatch.setenv("BNNBENCH_OFFLINE", "1")
    (cifar10 / "frost").unlink()
    with pytest.raises(DataUnavailable, match="fetch frost"):
        Corrupted("frost", 2).origin(Limited(Cifar10(), train=10, test=50).load(0))
