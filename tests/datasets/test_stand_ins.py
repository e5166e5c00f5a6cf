"""Stand-ins are scikit-learn's data in another order."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_sample_images

from bnnbench.datasets.stand_ins import (
    DiabetesAsUci,
    DigitsAsCifar10,
    DigitsAsMnist,
    PhotographCrops,
)


@pytest.mark.parametrize(
    ("source", "shape", "times", "border"),
    [(DigitsAsMnist(), (28, 28, 1), 3, 2), (DigitsAsCifar10(), (32, 32, 3), 4, 0)],
)
def test_averaging_the_drawn_pixels_gives_the_digits_back(source, shape, times, border):
    digits = load_digits()
    parts = [source.images(part) for part in ("train", "test")]
    drawn = np.concatenate([images for images, _ in parts])
    assert drawn.shape == (1797, *shape)
    assert np.concatenate([labels for _, labels in parts]).tolist() == digits.target.tolist()
    inner = drawn[:, border : border + 8 * times, border : border + 8 * times]
    means = inner.reshape(1797, 8, times, 8, times, -1).mean((2, 4, 5))
    assert np.abs(means * 16 / 255 - digits.images).max() <= 0.5 * 16 / 255


def test_crops_are_pieces_of_the_photographs():
    crops, labels = PhotographCrops().images("test")
    china, flower = load_sample_images().images
    assert crops.shape == (2 * 13 * 20, 32, 32, 3)
    np.testing.assert_array_equal(crops[21], china[32:64, 32:64])
    np.testing.assert_array_equal(crops[260], flower[:32, :32])
    assert set(labels.tolist()) == {-1}


def test_grey_crops_are_as_bright_as_the_coloured():
    grey, _ = PhotographCrops(size=28, grey=True).images("train")
    colour, _ = PhotographCrops(size=28).images("train")
    assert grey.shape == (*colour.shape[:3], 1)
    luma = colour @ np.array([0.299, 0.587, 0.114])
    assert np.abs(grey[..., 0] - luma).max() <= 0.5 + 1e-9


def test_crops_cannot_be_learned_from():
    with pytest.raises(ValueError, match="no labels"):
        PhotographCrops().load(0)


def test_diabetes_has_all_patients_in_original_units():
    table = DiabetesAsUci().table(5)
    inputs, targets = load_diabetes(return_X_y=True, scaled=False)
    rows = np.column_stack([inputs, targets])
    both = np.column_stack(
        [
            np.concatenate([table.train_inputs, table.test_inputs]),
            np.concatenate([table.train_targets, table.test_targets]),
        ]
    )
    assert sorted(map(tuple, both)) == sorted(map(tuple, rows))


@pytest.mark.parametrize("source", [DigitsAsMnist(), DigitsAsCifar10(), DiabetesAsUci()])
def test_stand_ins_say_what_they_are_and_need_no_files(source, folder):
    assert source.load(0).origin == source.origin == "stand-in"
    assert source.missing() == ()
    source.fetch()
    assert not folder.exists()


def test_a_target_of_zero_is_where_the_units_of_a_table_have_it():
    source = DiabetesAsUci()
    data, raw = source.load(0), source.table(0)
    assert data.target is not None
    assert data.target_zero is not None
    above = (data.train.targets[:, 0] - data.target_zero) * data.target.std
    np.testing.assert_allclose(above, raw.train_targets, rtol=1e-5)
