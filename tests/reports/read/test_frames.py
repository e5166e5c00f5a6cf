"""Results as pandas tables."""

import subprocess
import sys
from dataclasses import replace
from operator import attrgetter

import pandas as pd
import pytest

import bnnbench
from bnnbench.engine.records.cost import Cost
from bnnbench.engine.store.store import CorruptRecord, Store
from bnnbench.engine.store.tables import write_tables
from tests.engine.records.test_record import RECORD, numbered

TWO = numbered(
    0,
    method="IVON",
    scores={"clean": {"rmse": 0.5, "forgotten": 1.0}, "rotated": {"rmse": float("inf")}},
    condition_origins={"clean": "original", "rotated": "stand-in"},
    cost=Cost(3.0, 0.5, 2048.0, fit_joules=7.0, compile_seconds=4.0),
)
DIVERGED = numbered(1, status="diverged", error="no", scores={})


@pytest.fixture
def folder(tmp_path):
    """A folder of one suite."""
    store = Store(tmp_path / "miniature")
    for record in (RECORD, TWO, DIVERGED):
        store.write(record, None)
    return store.folder


def test_every_score_is_a_row(folder):
    table = bnnbench.results(folder).set_index(["key", "condition", "metric"])
    assert len(table) == 4
    assert table.loc[(RECORD.key, "clean", "rmse"), "value"] == 0.1
    assert table.loc[(TWO.key, "clean", "rmse"), "unit"] == "target_units"
    assert table.loc[(TWO.key, "clean", "forgotten"), "unit"] == ""
    assert table.loc[(TWO.key, "rotated", "rmse"), "origin"] == "stand-in"
    assert table["value"].dtype == float
    assert set(table["method"]) == {"Mean", "IVON"}


def test_every_run_is_a_row_of_costs_with_numbers(folder):
    table = bnnbench.costs(folder).set_index("key")
    assert table.loc[TWO.key, ["fit_seconds", "compile_seconds", "fit_joules"]].tolist() == [
        3,
        4,
        7,
    ]
    assert table.loc[DIVERGED.key, "status"] == "diverged"
    assert table["fit_joules"].isna().sum() == 2
    assert table["fit_joules"].dtype == float


def test_tables_say_what_the_files_beside_the_runs_say(folder):
    write_tables(Store(folder))
    places = ("device", "cpu", "cpu_model")
    for name in ("results", "costs"):
        file = folder / {"results": "metrics.csv", "costs": "costs.csv"}[name]
        table = getattr(bnnbench, name)(folder).drop(columns="key")
        written = pd.read_csv(file, dtype=dict.fromkeys(places, str))
        texts = dict.fromkeys(("unit", *places), "").items() & {(c, "") for c in table}
        pd.testing.assert_frame_equal(table, written.fillna(dict(texts)), check_dtype=False)


def test_a_folder_of_suites_gives_all_of_them(folder):
    other = Store(folder.parent / "other")
    other.write(replace(TWO, suite="other"), None)
    assert set(bnnbench.results(str(folder.parent))["suite"]) == {"miniature", "other"}


def test_runs_without_scores_give_an_empty_table_with_all_columns(tmp_path):
    Store(tmp_path).write(DIVERGED, None)
    table = bnnbench.results(tmp_path)
    assert table.empty
    assert {"suite", "metric", "value", "key"} <= set(table)


def test_a_folder_without_results_and_a_damaged_record_are_named(folder, tmp_path):
    with pytest.raises(ValueError, match="nowhere is not a folder"):
        bnnbench.results(tmp_path / "nowhere")
    (folder / "runs" / TWO.key / "record.json").write_text("{")
    with pytest.raises(CorruptRecord, match=TWO.key):
        bnnbench.results(folder)


def test_no_other_name_is_an_attribute():
    with pytest.raises(AttributeError, match="result_s"):
        attrgetter("result_s")(bnnbench)


def in_python(script):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


HEAVY = "[m for m in ('torch', 'numba', 'pandas', 'numpy', 'jaxtyping') if m in sys.modules]"


def test_importing_bnnbench_loads_nothing_heavy():
    assert in_python(f"import sys, bnnbench; print({HEAVY})") == "[]"


def test_results_are_read_without_torch_and_numba(folder):
    script = f"import sys, bnnbench; bnnbench.results({str(folder)!r}); print({HEAVY})"
    assert in_python(script) == "['pandas', 'numpy']"
