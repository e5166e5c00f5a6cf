"""Images between 0 and 1."""

import numpy as np
import pytest
import torch

from bnnbench.datasets.cuts.held_out import HeldOut
from bnnbench.datasets.cuts.intensities import Intensities
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.generated.sine import Sine
from bnnbench.datasets.stand_ins import DigitsAsMnist


def test_intensities_are_bytes_over_255():
    data = Intensities(DigitsAsMnist()).load(0)
    raw, labels = DigitsAsMnist().images("test")
    np.testing.assert_allclose(data.test.inputs, raw.transpose(0, 3, 1, 2) / 255, atol=1e-6)
    assert torch.equal(data.test.targets, torch.tensor(labels))
    assert (data.train.inputs.min(), data.train.inputs.max()) == (0, 1)


@pytest.mark.parametrize("cut", [Limited, HeldOut])
def test_a_cut_keeps_the_scale_whichever_is_done_first(cut):
    inside, outside = (
        source.load(0)
        for source in (cut(Intensities(DigitsAsMnist())), Intensities(cut(DigitsAsMnist())))
    )
    assert torch.equal(inside.train.inputs, outside.train.inputs)
    assert torch.equal(inside.test.inputs, outside.test.inputs)


def test_rows_of_a_table_have_no_intensity():
    with pytest.raises(ValueError, match="needed a source of images; got sine"):
        Intensities(Sine())
