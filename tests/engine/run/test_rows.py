"""Rows from a data server: training rows before a fit, test rows after it."""

from dataclasses import replace

import pytest
import torch

from bnnbench.datasets.stand_ins import DiabetesAsUci
from bnnbench.engine.run.rows import LocalRows, ServedRows, answered
from tests.suites.small_store import RUN

DIABETES = replace(RUN, case=replace(RUN.case, source=DiabetesAsUci()))


def test_runs_fitted_together_share_their_rows():
    rows = ServedRows(answered)
    first, second = (rows.training_rows(DiabetesAsUci(), 0) for _ in range(2))
    assert first is second
    assert len(first.test) == 0
    whole = DiabetesAsUci().load(0)
    assert torch.equal(first.train.inputs, whole.train.inputs)
    assert torch.equal(first.train.targets, whole.train.targets)
    assert len(rows.all_rows(DiabetesAsUci(), 0).test) == len(whole.test)
    with pytest.raises(ValueError, match="has folds 0 to"):
        rows.training_rows(DiabetesAsUci(), 999)


def test_a_loaded_run_has_no_test_rows_until_it_asks_for_them():
    rows = ServedRows(answered)
    loaded = rows.load(DIABETES)
    assert len(loaded.data.test) == len(loaded.first.test) == 0
    whole = LocalRows().load(DIABETES)
    shown = rows.with_test_rows(loaded).loaded
    for data in (shown.data, shown.first):
        assert torch.equal(data.test.targets, whole.data.test.targets)
        assert torch.equal(data.train.inputs, whole.data.train.inputs)


def test_rows_that_another_run_changed_are_loaded_again():
    rows = LocalRows()
    loaded = rows.load(DIABETES)
    (same,) = rows.undamaged([loaded])
    assert same is loaded
    before = loaded.data.train.targets.clone()
    loaded.data.train.targets.add_(1)
    (again,) = rows.undamaged([loaded])
    assert torch.equal(again.loaded.data.train.targets, before)
