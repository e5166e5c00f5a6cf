"""Several stores become one, with nothing lost and nothing damaged."""

import shutil
from datetime import UTC, datetime, timedelta

import pytest

from bnnbench.engine.store.inspection import inspect
from bnnbench.engine.store.store import Store
from tests.records import changed
from tests.suites.small_store import OUTCOMES, alter, call, tree, truncate

LATER = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
"""The time of a machine whose clock is ahead."""


@pytest.fixture
def two(tmp_path) -> tuple[Store, Store]:
    found = (Store(tmp_path / "a" / "miniature"), Store(tmp_path / "b" / "miniature"))
    for store, some in zip(found, (OUTCOMES[:2], OUTCOMES[1:]), strict=True):
        store.write_all((outcome.record, outcome.predictions) for outcome in some)
    return found


def merged(two, capsys):
    folders = [store.folder.parent for store in two]
    out = folders[0].parent / "out"
    before = [tree(folder) for folder in folders]
    code, told = call(capsys, "merge", *folders, "--out", out)
    assert [tree(folder) for folder in folders] == before
    assert not list(out.parent.glob(".*"))
    return Store(out / "miniature"), code, told


def test_equal_runs_are_merged_to_one(two, capsys):
    out, code, told = merged(two, capsys)
    assert (code, "4 runs, 1 of them equal in several" in told) == (0, True)
    assert "differs" not in told
    assert not inspect(out).findings
    assert {r.key for r in out.records()} == {o.record.key for o in OUTCOMES}
    for outcome in OUTCOMES[:3]:
        assert out.packed(outcome.record.key) == outcome.predictions
    assert (out.folder / "metrics.csv").exists()


def test_of_runs_that_differ_the_later_one_is_taken_and_a_line_says_so(two, capsys):
    first, _ = two
    key = OUTCOMES[1].record.key
    other = changed(OUTCOMES[1].record, scores={"clean": {"rmse": 9.0}})
    first.clock.see(LATER)
    first.write(other, OUTCOMES[0].predictions)
    out, code, told = merged(two, capsys)
    assert code == 0
    assert f"({key}) differs: " in told
    assert f"taken from {first.folder}" in told
    assert out.read(key) == Store(first.folder).read(key)
    assert out.packed(key) == OUTCOMES[0].predictions


def test_a_run_that_failed_on_another_machine_later_does_not_hide_one_that_ended_well(two, capsys):
    first, second = two
    key = OUTCOMES[1].record.key
    second.clock.see(LATER)
    second.write(changed(OUTCOMES[1].record, status="failed", error="no memory", scores={}), None)
    out, _, told = merged(two, capsys)
    assert out.read(key).outcome.status == "completed"
    assert f"taken from {first.folder}" in told


def test_a_damaged_run_is_taken_from_the_store_that_has_it_whole(two, capsys):
    _, second = two
    key = OUTCOMES[1].record.key
    alter(second.runs / key / "predictions.npz")
    truncate(second.runs / OUTCOMES[2].record.key / "record.json")
    out, code, told = merged(two, capsys)
    assert code == 3
    assert "without an undamaged copy, left out: 1 run\n" in told
    assert str(second.runs / OUTCOMES[2].record.key) in told
    assert out.packed(key) == OUTCOMES[1].predictions
    assert not inspect(out).findings


def test_a_merge_that_fails_leaves_nothing(two, capsys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    out, code, told = merged(two, capsys)
    assert (code, "No space left" in told) == (2, True)
    assert not out.folder.parent.exists()


def test_a_merge_into_a_folder_with_something_in_it_is_refused(two, capsys):
    (two[0].folder.parent.parent / "out").mkdir()
    (two[0].folder.parent.parent / "out" / "mine").write_text("")
    _, code, told = merged(two, capsys)
    assert (code, "exists already" in told) == (2, True)
