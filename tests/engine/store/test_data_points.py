"""Data points for figures: kept once, read back, and refused if damaged."""

from dataclasses import replace

import numpy as np
import pytest

from bnnbench.commands.suite import command
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.generated.curves import Cubic
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.engine.store.data_points import curve, keep_curves
from bnnbench.engine.store.store import CorruptRecord, Store
from bnnbench.reports.read.predictions.points import points_of
from tests.suites.fakes import Coins, Line, Mean

SUITE = Suite(
    name="curves",
    title="A curve",
    profile="quick",
    cases=(Case(Cubic(), ()),),
    methods={"Mean": Mean()},
    evaluations=(Evaluation(Clean(), ("rmse",)),),
    folds=2,
)

SERIAL = ("--executor", "serial", "--in-process")


def test_the_points_of_each_fold_are_kept_in_original_units(tmp_path):
    assert command({"quick": SUITE}, ["--out", str(tmp_path), "--no-report", *SERIAL]) == 0
    store = Store(tmp_path / "curves")
    for record in store.records():
        found, table = curve(store, record), Cubic().table(record.fold)
        np.testing.assert_allclose(found.train_inputs, table.train_inputs[:, 0], atol=1e-5)
        np.testing.assert_allclose(found.train_targets, table.train_targets, atol=1e-4)
        np.testing.assert_allclose(found.test_inputs, table.test_inputs[:, 0], atol=1e-5)
        np.testing.assert_allclose(found.truth, table.test_inputs[:, 0] ** 3, atol=1e-3)


def test_a_source_that_knows_no_truth_is_kept_without(tmp_path):
    arguments = ["--out", str(tmp_path), "--no-report", *SERIAL, "--limit", "9"]
    assert command({"quick": SUITE}, arguments) == 0
    store = Store(tmp_path / "curves")
    record = next(store.records())
    assert curve(store, record).truth is None
    assert len(curve(store, record).test_inputs) == 9


@pytest.mark.parametrize("source", [Line(), Coins()])
def test_several_inputs_or_classes_make_no_curve(tmp_path, source):
    keep_curves(replace(SUITE, cases=(Case(source, ()),)), Store(tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"", b"not an archive", b"PK\x03\x04 half"], ids=["empty", "text", "truncated"]
)
def test_a_damaged_file_of_points_is_named_with_its_cure(tmp_path, content):
    assert command({"quick": SUITE}, ["--out", str(tmp_path), "--no-report", *SERIAL]) == 0
    store = Store(tmp_path / "curves")
    record = next(store.records())
    for path in (store.folder / "curves").iterdir():
        path.write_bytes(content)
    with pytest.raises(
        CorruptRecord, match=r"npz: not a file of data points: .*; remove it: the next run"
    ):
        curve(store, record)
    assert points_of(store, record) is None


def test_points_with_other_arrays_are_damaged(tmp_path):
    assert command({"quick": SUITE}, ["--out", str(tmp_path), "--no-report", *SERIAL]) == 0
    store = Store(tmp_path / "curves")
    for path in (store.folder / "curves").iterdir():
        np.savez(path, strange=np.zeros(3))
    with pytest.raises(CorruptRecord, match="strange"):
        curve(store, next(store.records()))
