"""The condition that tests a network of one data set on the images of another."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bnnbench.datasets.conditions.base import Condition
from bnnbench.datasets.conditions.transfer import Transfer
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.cuts.stl10_shared import Stl10Shared
from bnnbench.datasets.errors import DataUnavailable
from bnnbench.datasets.stand_ins import (
    DiabetesAsUci,
    DigitsAsCifar10,
    DigitsAsMnist,
    PhotographCrops,
)

DIGITS = Limited(DigitsAsCifar10(), train=50, test=20)


def test_its_name_says_of_what():
    assert Transfer(Stl10Shared()).name == "transfer_stl10"
    assert isinstance(Transfer(DIGITS), Condition)


def test_images_go_through_the_preprocessing_that_was_learned():
    data = DIGITS.load(0)
    split = Transfer(DigitsAsCifar10()).select(data)
    raw, labels = DigitsAsCifar10().images("test")
    expected = torch.tensor(raw / 255).permute(0, 3, 1, 2) - data.scaling.mean
    expected = expected / data.scaling.std
    assert torch.allclose(split.inputs.double(), expected, atol=1e-5)
    np.testing.assert_array_equal(split.targets, labels)
    assert torch.equal(split.inputs[:20], data.test.inputs)
    assert split.targets.dtype == data.test.targets.dtype


def test_the_origin_is_the_lesser_of_the_two():
    data = DIGITS.load(0)
    assert Transfer(DIGITS).origin(data) == "stand-in"
    cut = replace(data, origin="subset")
    assert Transfer(Stl10Shared()).origin(cut) == "subset"
    assert Transfer(Stl10Shared()).origin(replace(data, origin="original")) == "original"


def test_one_stand_in_alone_is_refused_with_the_cure():
    data = DIGITS.load(0)
    with pytest.raises(DataUnavailable, match=r"data to learn are missing.*--data stand-in"):
        Transfer(Stl10Shared()).origin(data)
    with pytest.raises(DataUnavailable, match=r"data to test on are missing.*data fetch"):
        Transfer(DIGITS).origin(replace(data, origin="subset"))


def test_other_kinds_of_images_and_labels_are_refused():
    data = DIGITS.load(0)
    with pytest.raises(ValueError, match="images of shape"):
        Transfer(DigitsAsMnist()).select(data)
    with pytest.raises(ValueError, match=r"labels of 10 classes.*-1 to -1"):
        Transfer(PhotographCrops()).select(data)
    with pytest.raises(ValueError, match="images of shape"):
        Transfer(DIGITS).select(DiabetesAsUci().load(0))


def test_its_source_can_be_resolved():
    condition = Transfer(Stl10Shared()).with_sources(lambda source: source.fallbacks("test")[0])
    assert condition.sources() == (DigitsAsCifar10(),)
