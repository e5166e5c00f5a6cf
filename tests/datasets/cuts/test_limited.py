"""A limited source is the head of the source, standardised on its remaining rows."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from bnnbench.datasets.base import DataSource, ImageSource
from bnnbench.datasets.cuts.held_out import HeldOut
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.svhn import SvhnFirst1083
from bnnbench.datasets.official.uci import Uci
from bnnbench.datasets.stand_ins import DiabetesAsUci, DigitsAsMnist


class Official(DiabetesAsUci):
    origin = "original"


class OfficialDigits(DigitsAsMnist):
    origin = "original"


def test_images_are_the_first_and_the_scaling_is_theirs():
    whole, cut = DigitsAsMnist(), Limited(DigitsAsMnist(), train=100, test=30)
    data = cut.load(0)
    raw, labels = whole.images("train")
    assert data.train.targets.tolist() == labels[:100].tolist()
    assert len(data.test) == 30
    assert float(data.scaling.mean) == pytest.approx(raw[:100].mean() / 255)
    assert float(data.scaling.std) == pytest.approx(raw[:100].std() / 255)
    assert data.facts["train_rows"] == 100


def test_rows_are_the_first_and_the_scaling_is_theirs():
    data = Limited(DiabetesAsUci(), train=50, test=7).load(3)
    table = DiabetesAsUci().table(3)
    scaler = StandardScaler().fit(table.train_inputs[:50])
    np.testing.assert_allclose(data.test.inputs, scaler.transform(table.test_inputs[:7]), atol=1e-5)


def test_a_limit_on_the_test_rows_leaves_the_training_rows():
    whole, cut = DiabetesAsUci().load(0), Limited(DiabetesAsUci(), test=5).load(0)
    assert cut.train.inputs.equal(whole.train.inputs)
    assert cut.test.inputs.equal(whole.test.inputs[:5])


def test_the_origin_says_subset_only_where_rows_of_original_files_are_left_out():
    assert Limited(Official(), train=50).origin == "subset"
    assert Limited(Official(), train=50).load(0).origin == "subset"
    assert Limited(Official(), train=398, test=44).origin == "original"
    assert Limited(OfficialDigits(), test=359).origin == "subset"
    assert Limited(OfficialDigits(), test=360).origin == "original"
    assert Limited(DiabetesAsUci(), train=50).origin == "stand-in"


def test_the_origin_of_a_table_without_its_file_is_the_source_s(folder):
    assert Limited(Uci("boston"), train=50).origin == "original"


def test_a_limit_of_a_limit_is_the_smaller():
    once = Limited(DigitsAsMnist(), train=50, test=20)
    assert Limited(once, train=80, test=10) == Limited(DigitsAsMnist(), train=50, test=10)
    assert Limited(once) == once


def test_a_limit_is_a_source_and_passes_its_limits_to_what_takes_its_place(folder):
    cut = Limited(SvhnFirst1083(), test=9)
    assert isinstance(cut, ImageSource)
    assert isinstance(cut, DataSource)
    (other,) = cut.fallbacks("test")
    assert len(other.images("test")[0]) == 9
    assert cut.missing("test") == SvhnFirst1083().missing("test") != ()


@pytest.mark.parametrize("whole", [DigitsAsMnist(), DiabetesAsUci()])
def test_limiting_and_holding_out_combine_in_any_order(whole):
    inner = Limited(HeldOut(whole, share=0.25), train=50, test=9).load(0)
    outer = HeldOut(Limited(whole, train=40), share=0.25).load(0)
    assert (len(inner.train), len(inner.test)) == (50, 9)
    assert (len(outer.train), len(outer.test)) == (30, 10)


@pytest.mark.parametrize("limits", [{"train": 0}, {"test": -1}])
def test_a_limit_below_one_is_refused(limits):
    with pytest.raises(ValueError, match="at least 1"):
        Limited(DiabetesAsUci(), **limits)
