"""ActivePool divides a source into labelled rows, test rows and a pool."""

import numpy as np
import pytest
import torch

from bnnbench.datasets.base import DataSource, PoolSource
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.cuts.pool import ActivePool
from bnnbench.datasets.errors import NothingToLearn, PoolTooSmall
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.datasets.official.uci import Uci
from bnnbench.datasets.resolve import resolve
from bnnbench.datasets.stand_ins import DiabetesAsUci, DigitsAsMnist

DIABETES = ActivePool(DiabetesAsUci())
DIGITS = ActivePool(DigitsAsMnist(), train=30, test=50, repeats=3)


def raw():
    table = DiabetesAsUci().table(0)
    inputs = np.concatenate([table.train_inputs, table.test_inputs])
    return inputs, np.concatenate([table.train_targets, table.test_targets])


def test_the_parts_of_a_table_are_all_its_rows_each_once():
    for fold in (0, 39):
        train, test, pool = DIABETES.partition(fold)
        assert (len(train), len(test), len(pool)) == (20, 100, 442 - 120)
        assert sorted(np.concatenate([train, test, pool])) == list(range(442))


def test_test_images_are_the_sources_and_the_pool_its_other_training_images():
    train, test, pool = DIGITS.partition(1)
    images, labels = DigitsAsMnist().images("train")
    assert (len(train), len(test)) == (30, 0)
    assert sorted(np.concatenate([train, pool])) == list(range(len(images)))
    assert torch.equal(DIGITS.load(1).train.targets, torch.tensor(labels[train]))
    theirs = DigitsAsMnist().images("test")[1][:50]
    assert torch.equal(DIGITS.load(1).test.targets, torch.tensor(theirs))


def test_a_partition_depends_on_the_fold_alone():
    first = DIABETES.partition(3)
    again = ActivePool(DiabetesAsUci(), repeats=5).partition(3)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first.train, DIABETES.partition(4).train)


def test_everything_is_standardised_on_the_rows_that_are_labelled_by_then():
    inputs, targets = raw()
    parts = DIABETES.partition(2)
    acquired = tuple(parts.pool[[7, 0, 100]].tolist())
    labelled = [*parts.train, *acquired]
    mean, std = inputs[labelled].mean(0), inputs[labelled].std(0)
    data = DIABETES.with_acquired(2, acquired)

    def scaled(rows):
        return torch.from_numpy((inputs[rows] - mean) / std).float()

    assert torch.allclose(data.train.inputs, scaled(labelled), atol=1e-5)
    assert torch.allclose(data.test.inputs, scaled(parts.test), atol=1e-5)
    left = DIABETES.candidates(2, acquired)
    assert torch.allclose(DIABETES.inputs(left, data.scaling), scaled(left), atol=1e-5)
    assert data.target is not None
    assert data.target.mean == pytest.approx(targets[labelled].mean())
    assert data.target.std == pytest.approx(targets[labelled].std())
    expected = (targets[labelled] - data.target.mean) / data.target.std
    assert torch.allclose(data.train.targets[:, 0].double(), torch.from_numpy(expected), atol=1e-5)


def test_a_column_that_is_constant_among_few_rows_keeps_its_scale():
    source = ActivePool(DiabetesAsUci(), train=3)
    constant = [f for f in range(40) if np.ptp(raw()[0][source.partition(f).train][:, 1]) == 0]
    data = source.load(constant[0])
    assert data.scaling.std[1] == 1
    assert data.facts["constant_columns"] == [1]
    assert data.train.inputs[:, 1].abs().max() == 0


def test_candidates_are_the_pool_without_the_acquired_rows():
    pool = DIABETES.partition(0).pool
    left = DIABETES.candidates(0, tuple(pool[[1, 3]].tolist()))
    assert left.tolist() == [row for k, row in enumerate(pool) if k not in (1, 3)]
    assert DIABETES.with_acquired(0, (int(pool[1]),)).facts["pool_rows"] == len(pool) - 1


def test_candidate_images_look_as_they_will_when_they_are_labelled():
    row = int(DIGITS.partition(0).pool[5])
    data = DIGITS.with_acquired(0, (row,))
    seen = DIGITS.inputs(np.array([row]), data.scaling)
    assert torch.equal(seen[0], data.train.inputs[-1])


@pytest.mark.parametrize("wrong", ["test row", "twice"])
def test_only_rows_of_the_pool_are_acquired_and_once_each(wrong):
    parts = DIABETES.partition(0)
    rows = {"test row": (int(parts.test[0]),), "twice": (int(parts.pool[0]),) * 2}[wrong]
    with pytest.raises(ValueError, match="distinct rows of the pool"):
        DIABETES.with_acquired(0, rows)


def test_too_few_rows_are_refused():
    with pytest.raises(PoolTooSmall, match="442 rows; a pool needs over 442"):
        ActivePool(DiabetesAsUci(), train=342).load(0)
    with pytest.raises(NothingToLearn):
        ActivePool(DiabetesAsUci(), train=1).load(0)
    with pytest.raises(ValueError, match="give the number of test rows"):
        ActivePool(DiabetesAsUci(), test=None)
    with pytest.raises(ValueError, match="repeats must be at least 1"):
        ActivePool(DiabetesAsUci(), repeats=0)
    with pytest.raises(ValueError, match="folds 0 to 39"):
        DIABETES.load(40)


def test_a_limit_says_that_rows_were_left_out(data_folder):
    assert isinstance(DIABETES, DataSource)
    assert isinstance(DIABETES, PoolSource)
    boston = ActivePool(Uci("boston"))
    assert boston.origin == boston.load(0).origin == "original"
    limited = boston.limited(10)
    assert (len(limited.load(0).train), len(limited.load(0).test)) == (10, 10)
    assert limited.origin == "subset"
    assert len(limited.candidates(0, ())) == 506 - 20
    assert ActivePool(Mnist(), test=50).origin == "subset"
    assert ActivePool(Mnist(), test=None).origin == "original"
    assert ActivePool(Limited(Mnist(), train=200), test=None).origin == "subset"


def test_a_stand_in_takes_the_place_of_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("BNNBENCH_DATA", str(tmp_path))
    for source in (ActivePool(Uci("boston")), ActivePool(Mnist(), train=30, test=50)):
        found = resolve(source, offline=True)
        assert found.origin == found.load(0).origin == "stand-in"
        assert len(found.load(0).train) == source.train
