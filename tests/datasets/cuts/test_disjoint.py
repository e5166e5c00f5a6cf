"""Disjoint training sets: no image twice, one test set, separate standardisation."""

import pytest

from bnnbench.datasets.cuts.disjoint import Disjoint
from bnnbench.datasets.stand_ins import DiabetesAsUci, DigitsAsMnist
from bnnbench.reports.read.overlap import overlap_of
from tests.reports.synthetic import record

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
