"""HeldOut shows the search of a method only training rows."""

import numpy as np
import pytest

from bnnbench.datasets.base import DataSource
from bnnbench.datasets.cuts.held_out import HeldOut
from bnnbench.datasets.stand_ins import DiabetesAsUci, DigitsAsMnist


def test_no_test_row_of_the_source_is_in_reach():
    source = DiabetesAsUci()
    whole, cut = source.table(1), HeldOut(source).table(1)
    seen = np.concatenate([cut.train_inputs, cut.test_inputs])
    assert sorted(map(tuple, seen)) == sorted(map(tuple, whole.train_inputs))


def test_held_out_rows_are_a_fifth_and_standardised_on_the_others():
    data = HeldOut(DiabetesAsUci(), share=0.2).load(0)
    rows = len(data.train) + len(data.test)
    assert len(data.test) == round(0.2 * rows)
    assert data.train.inputs.mean(0).abs().max() < 1e-5
    assert abs(float(data.train.targets.std(correction=0)) - 1) < 1e-5
    assert data.test.inputs.mean(0).abs().max() > 1e-3


def test_images_are_held_out_from_the_training_part():
    source = DigitsAsMnist()
    raw, labels = source.images("train")
    held_out, theirs = HeldOut(source).images("test")
    assert (held_out == raw[-len(held_out) :]).all()
    assert (theirs == labels[-len(theirs) :]).all()


def test_it_is_a_source_and_never_original():
    assert isinstance(HeldOut(DiabetesAsUci()), DataSource)
    assert HeldOut(DiabetesAsUci()).origin == "stand-in"


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1])
def test_an_impossible_share_is_refused(share):
    with pytest.raises(ValueError, match="share"):
        HeldOut(DiabetesAsUci(), share)
