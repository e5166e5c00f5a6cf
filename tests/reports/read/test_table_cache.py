"""Tables of bundles, from the cache and without it."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

import bnnbench
from bnnbench.engine.records.cost import Cost
from bnnbench.engine.store import bundles
from bnnbench.reports.read import table_cache
from tests.engine.records.test_record import numbered

RUNS = [
    numbered(
        0,
        scores={"clean": {"rmse": 0.5, "nll": float("inf")}, "åäö ☃": {"rmse": float("nan")}},
        condition_origins={"clean": "original", "åäö ☃": "stand-in"},
        cost=Cost(3.0, 0.5, 2048.0, fit_joules=7.0),
    ),
    numbered(1, status="diverged", error="no", scores={}),
    numbered(2, method="IVON", scores={"clean": {"rmse": 0.25}}),
]


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("BNNBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def bundle(tmp_path) -> Path:
    bundles.write(tmp_path / "bundle", RUNS)
    return tmp_path / "bundle"


@pytest.mark.parametrize("table", [bnnbench.results, bnnbench.costs])
def test_a_second_read_gives_the_same_table_and_reads_no_record(table, bundle, cache, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("BNNBENCH_CACHE", "off")
        fresh = table(bundle)
    assert not cache.exists()
    first = table(bundle)
    monkeypatch.setattr(bundles, "read", lambda folder: pytest.fail("records were read"))
    second = table(bundle)
    for found in (first, second):
        pd.testing.assert_frame_equal(found, fresh, check_exact=True)


def test_another_content_is_read_again(bundle, cache):
    assert set(bnnbench.results(bundle)["method"]) == {"Mean", "IVON"}
    bundles.write(bundle, RUNS[:1])
    assert set(bnnbench.results(bundle)["method"]) == {"Mean"}


def test_other_code_makes_another_file(bundle, cache, monkeypatch):
    bnnbench.results(bundle)
    monkeypatch.setattr(table_cache, "digest_of", lambda *_: "m1:0123456789abcdef")
    bnnbench.results(bundle)
    assert len(list(cache.iterdir())) == 2


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04", None])
def test_a_damaged_file_counts_as_absent(bundle, cache, damage):
    before = bnnbench.results(bundle)
    (file,) = cache.iterdir()
    file.write_bytes(file.read_bytes()[:-40] if damage is None else damage)
    pd.testing.assert_frame_equal(bnnbench.results(bundle), before)
    assert len(file.read_bytes()) > 100


def test_a_place_that_cannot_be_written_costs_nothing_but_time(bundle, cache):
    cache.write_text("a file in place of the folder")
    assert len(bnnbench.results(bundle)) == 4


def test_a_cache_of_somebody_else_is_read_though_its_times_cannot_be_set(
    bundle, cache, monkeypatch
):
    before = bnnbench.results(bundle)
    monkeypatch.setattr(bundles, "read", lambda folder: pytest.fail("records were read"))

    def refuse(path):
        raise PermissionError(path)

    monkeypatch.setattr(os, "utime", refuse)
    pd.testing.assert_frame_equal(bnnbench.results(bundle), before)


def test_several_bundles_are_one_sorted_table(bundle, cache, tmp_path):
    bundles.write(bundle / "more", [numbered(3, method="A", scores={"clean": {"rmse": 1.0}})])
    both = bnnbench.results(bundle)
    assert both["method"].iloc[0] == "A"
    assert len(both) == 5


def test_files_that_nobody_reads_are_removed_in_time(bundle, cache):
    cache.mkdir()
    old, recent = cache / "old.npz", cache / "recent.npz"
    for file in (old, recent):
        file.touch()
    os.utime(old, (0, 0))
    bnnbench.results(bundle)
    assert not old.exists()
    assert recent.exists()


def test_readers_at_once_agree(bundle, cache):
    with ThreadPoolExecutor(4) as pool:
        tables = list(pool.map(bnnbench.results, [bundle] * 8))
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0])
