"""Folds with gaps, and folds without repeated rows."""

from collections import Counter
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from bnnbench.datasets.base import DataSource, TableSource
from bnnbench.datasets.cuts.folds import Deduplicated, Gap
from bnnbench.datasets.cuts.held_out import HeldOut
from bnnbench.datasets.official.uci import Uci
from bnnbench.datasets.stand_ins import DiabetesAsUci, DigitsAsMnist
from tests.suites.fakes import Line


def rows(table, part):
    inputs, targets = getattr(table, f"{part}_inputs"), getattr(table, f"{part}_targets")
    return Counter(map(tuple, np.column_stack([inputs, targets])))


@pytest.mark.parametrize("source", [DiabetesAsUci(), Line(rows=100)])
def test_every_row_takes_part_and_the_test_rows_lie_between_the_others(source):
    whole = source.table(0)
    gap = Gap(source, tuple(range(whole.train_inputs.shape[1])))
    everything = rows(whole, "train") + rows(whole, "test")
    assert gap.origin == source.origin
    for fold in range(gap.folds):
        table = gap.table(fold)
        assert rows(table, "train") + rows(table, "test") == everything
        tested, learned = table.test_inputs[:, fold], table.train_inputs[:, fold]
        below, above = learned <= tested.min(), learned >= tested.max()
        assert (below | above).all()
        assert abs(below.sum() - len(tested)) <= len(tested)
        assert abs(len(tested) - sum(everything.values()) / 3) < 1


def test_a_gap_of_numbers_in_order_is_the_middle_third():
    table = Gap(Ordered(), (0,)).table(0)
    assert table.test_inputs[:, 0].tolist() == [3, 4, 5]
    assert sorted(table.train_inputs[:, 0]) == [0, 1, 2, 6, 7, 8]
    assert table.test_targets.tolist() == [30, 40, 50]


@dataclass(frozen=True)
class Ordered(Line):
    """Nine rows; row 4 occurs three times in fold 1, once in training."""

    name: str = "ordered"
    folds: int = 2

    def table(self, fold):
        numbers = np.array(
            [8, 3, 1, 0, 6, 4, 5, 2, 7] if fold == 0 else [4, 1, 1, 2, 3, 0, 4, 4, 5]
        )
        inputs = np.column_stack([numbers, numbers % 2]).astype(float)
        return type(super().table(0))(
            inputs[:6], 10.0 * numbers[:6], inputs[6:], 10.0 * numbers[6:]
        )


def test_equal_rows_are_kept_once_and_not_in_both_parts():
    table = Deduplicated(Ordered()).table(1)
    assert table.train_inputs[:, 0].tolist() == [1, 2, 3, 0]
    assert table.train_targets.tolist() == [10, 20, 30, 0]
    assert table.test_inputs[:, 0].tolist() == [4, 5]
    assert Deduplicated(Ordered()).origin == "subset"


def test_real_sets_lose_their_repeated_rows(data_folder):
    for name, repeated in (("concrete", True), ("energy", False), ("wine_red", True)):
        source = Uci(name)
        for fold in (0, 7):
            whole, table = source.table(fold), Deduplicated(source).table(fold)
            learned = {row.tobytes() for row in table.train_inputs}
            assert len(learned) == len(table.train_inputs)
            assert not any(row.tobytes() in learned for row in table.test_inputs)
            assert (len(table.train_inputs) < len(whole.train_inputs)) == repeated


def test_a_gap_is_along_the_features_that_are_named():
    gap, same = Gap(DiabetesAsUci(), (7, 2)), Gap(DiabetesAsUci(), (2,))
    assert gap.folds == 2
    assert rows(gap.table(1), "test") == rows(same.table(0), "test")
    assert Gap(Uci("boston"), (0, 12)).fallbacks() == (Gap(DiabetesAsUci(), (0,)),)
    assert Gap(Uci("protein"), (0,)).folds == 1  # without its file
    with pytest.raises(ValueError, match="needed features of diabetes"):
        Gap(DiabetesAsUci())


@pytest.mark.parametrize("kind", [partial(Gap, features=(0, 1)), Deduplicated])
def test_they_are_sources_that_can_be_cut_further_and_fall_back(kind):
    source = kind(DiabetesAsUci())
    assert isinstance(source, DataSource)
    assert isinstance(source, TableSource)
    assert source.name.startswith("diabetes-")
    data = HeldOut(source).load(0)
    assert len(data.test) < len(data.train)
    assert kind(Uci("boston")).fallbacks() == (source,)
    with pytest.raises(ValueError, match="needed a source of tables; got digits_as_mnist"):
        kind(DigitsAsMnist())
