"""Images on other scales, held-out rows, and disjoint training sets."""

import numpy as np
import pytest
import torch

from bnnbench.datasets.base import DataSource
from bnnbench.datasets.cuts.disjoint import Disjoint
from bnnbench.datasets.cuts.held_out import HeldOut
from bnnbench.datasets.cuts.intensities import Intensities
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.generated.curves import Sine
from bnnbench.datasets.stand_ins import DiabetesAsUci, DigitsAsMnist
from bnnbench.reports.read.overlap import overlap_of
from tests.reports.synthetic import record


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


SETS = Disjoint(DigitsAsMnist(), train=100, blocks=4, test=50)


def test_blocks_are_consecutive_and_share_the_test_images():
    raw, labels = DigitsAsMnist().images("train")
    _, tested = DigitsAsMnist().images("test")
    assert SETS.folds == 4
    for fold in range(4):
        data = SETS.load(fold)
        rows = slice(100 * fold, 100 * fold + 100)
        assert data.train.targets.tolist() == labels[rows].tolist()
        assert data.test.targets.tolist() == tested[:50].tolist()
        assert float(data.scaling.mean) == pytest.approx(raw[rows].mean() / 255)


def test_blocks_are_smaller_where_images_are_few():
    whole = len(DigitsAsMnist().images("train")[1])
    few = Disjoint(DigitsAsMnist(), train=10_000, blocks=10)
    assert [len(few.load(fold).train) for fold in (0, 9)] == [whole // 10] * 2
    with pytest.raises(ValueError, match="too few for 9999 blocks"):
        Disjoint(DigitsAsMnist(), train=1, blocks=9999).load(0)


def test_differences_over_disjoint_sets_count_as_independent():
    facts = dict(SETS.load(0).facts)
    assert facts["disjoint_training_sets"] == 4
    assert overlap_of([record(fold=fold, facts=facts) for fold in range(4)]) == 0.0
    shared = {name: value for name, value in facts.items() if name != "disjoint_training_sets"}
    assert overlap_of([record(fold=fold, facts=shared) for fold in range(4)]) == 0.5


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="train to be at least 1"):
        Disjoint(DigitsAsMnist(), train=0)
    with pytest.raises(ValueError, match="source of images"):
        Disjoint(DiabetesAsUci())
    with pytest.raises(ValueError, match="folds 0 to 3"):
        SETS.load(4)
