"""metrics.csv and costs.csv."""

import csv
import errno
import io
import os

import pandas as pd
import pytest

from bnnbench.engine.store.store import Store, Unwritable
from bnnbench.engine.store.tables import cost_rows, metric_rows, write_tables
from bnnbench.metrics import METRICS
from tests.engine.records.test_record import RECORD, numbered
from tests.records import changed

OTHER = changed(
    numbered(0),
    method='a, "quoted" <script>',
    scores={"clean": {"rmse": 1 / 3, "crps": float("nan")}, "rotated_60": {"rmse": 2.0}},
    condition_origins={"clean": "original", "rotated_60": "stand-in"},
)
FAILED = numbered(1, status="failed", error="no", scores={}, cost=None)


def test_the_columns_agree_with_the_readme(tmp_path):
    write_tables(Store(tmp_path))
    header = (tmp_path / "metrics.csv").read_text()
    assert header == ("suite,profile,dataset,origin,condition,method,seed,fold,metric,value,unit\n")


def test_every_score_of_every_completed_run_is_one_row(tmp_path):
    store = Store(tmp_path)
    for record in (OTHER, RECORD, FAILED):
        store.write(record, None)
    write_tables(store)
    table = pd.read_csv(tmp_path / "metrics.csv")
    assert len(table) == 4
    scores = table.set_index(["method", "condition", "metric"])
    assert scores.loc[(OTHER.method, "clean", "rmse"), "value"] == 1 / 3
    assert scores.loc[(OTHER.method, "clean", "rmse"), "unit"] == METRICS["rmse"].unit
    assert scores.loc[(OTHER.method, "rotated_60", "rmse"), "origin"] == "stand-in"
    costs = pd.read_csv(tmp_path / "costs.csv")
    assert list(costs["fit_seconds"]) == [1.5, 1.5]


def test_the_order_of_records_does_not_matter():
    assert metric_rows([OTHER, RECORD]) == metric_rows([RECORD, OTHER])
    assert cost_rows([OTHER, RECORD]) == cost_rows([RECORD, OTHER])


def test_values_survive_to_the_last_bit(tmp_path):
    value = 0.1 + 0.2
    store = Store(tmp_path)
    store.write(changed(RECORD, scores={"clean": {"rmse": value}}), None)
    write_tables(store)
    (row,) = csv.DictReader(io.StringIO((tmp_path / "metrics.csv").read_text()))
    assert float(row["value"]) == value


def test_a_metric_that_exists_no_more_has_no_unit():
    (row,) = metric_rows([changed(RECORD, scores={"clean": {"forgotten": 1.0}})])
    assert row[-3:] == ("forgotten", 1.0, "")


def test_a_full_disk_is_told_in_words(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store = Store(tmp_path)
    store.write(RECORD, None)
    monkeypatch.setattr("bnnbench.engine.store.tables.write_whole", full)
    with pytest.raises(Unwritable, match="No space left on device"):
        write_tables(store)
