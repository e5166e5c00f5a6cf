"""Images on fixed scales: between -1 and 1, and between 0 and 1."""

import numpy as np
import pytest
import torch

from bnnbench.datasets.conditions.rotated import Rotated
from bnnbench.datasets.cuts.intensities import Intensities, Signed
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.generated.curves import Sine
from bnnbench.datasets.stand_ins import DigitsAsMnist


def test_black_is_minus_one_and_white_is_one():
    data = Signed(DigitsAsMnist()).load(0)
    raw, labels = DigitsAsMnist().images("test")
    expected = raw.transpose(0, 3, 1, 2) / 127.5 - 1
    np.testing.assert_allclose(data.test.inputs, expected, atol=1e-6)
    assert torch.equal(data.test.targets, torch.tensor(labels))
    assert (data.train.inputs.min(), data.train.inputs.max()) == (-1, 1)


def test_intensities_are_the_bytes_over_255():
    data = Intensities(Limited(DigitsAsMnist(), train=20, test=10)).load(0)
    raw, _ = DigitsAsMnist().images("train")
    np.testing.assert_allclose(data.train.inputs, raw[:20].transpose(0, 3, 1, 2) / 255, atol=1e-7)
    turned = Rotated(45).select(data).inputs
    torch.testing.assert_close(turned[:, 0, 0, 0], torch.zeros(10))


@pytest.mark.parametrize(
    "source",
    [
        Signed(Limited(DigitsAsMnist(), train=20, test=10)),
        Limited(Signed(DigitsAsMnist()), train=20, test=10),
    ],
)
def test_a_cut_keeps_the_scale_whichever_is_done_first(source):
    whole, cut = Signed(DigitsAsMnist()).load(0), source.load(0)
    assert torch.equal(cut.train.inputs, whole.train.inputs[:20])
    assert torch.equal(cut.test.inputs, whole.test.inputs[:10])
    assert cut.likelihood == whole.likelihood


def test_turned_images_have_a_black_ground():
    data = Signed(Limited(DigitsAsMnist(), train=20, test=10)).load(0)
    turned = Rotated(45).select(data).inputs
    torch.testing.assert_close(turned[:, 0, 0, 0], torch.full((10,), -1.0))


@pytest.mark.parametrize("scale", [Signed, Intensities])
def test_rows_of_numbers_are_refused(scale):
    with pytest.raises(ValueError, match="source of images; got sine"):
        scale(Sine())
