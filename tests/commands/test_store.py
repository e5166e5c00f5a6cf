"""The runs of a store are listed."""

import json

import pytest

from bnnbench.commands import truth
from tests.suites.small_store import OUTCOMES, RUNS, call, truncate


def test_runs_are_listed_by_what_is_asked_for(store, capsys):
    code, told = call(capsys, "list", store.folder)
    assert code == 0
    assert len(told.splitlines()) == 4
    for flags, count in (
        (["--method", "mean"], 3),
        (["--status", "diverged"], 1),
        (["--dataset", "line", "--method", "Mean"], 3),
        (["--dataset", "other"], 0),
    ):
        listed = json.loads(call(capsys, "list", "--json", *flags, store.folder)[1])
        assert len(listed) == count
    (row,) = json.loads(call(capsys, "list", "--json", "--status", "diverged", store.folder)[1])
    assert row["key"] == OUTCOMES[3].record.key


def test_a_damaged_record_does_not_end_the_list(store, capsys):
    truncate(store.runs / RUNS[1].key / "record.json")
    code, told = call(capsys, "list", store.folder)
    assert code == 3
    assert f"damaged: {store.runs / RUNS[1].key}" in told
    assert len(told.splitlines()) == 4


def test_a_status_that_no_run_can_have_is_refused_and_none_found_is_said(store, capsys):
    with pytest.raises(SystemExit) as ended:
        call(capsys, "list", "--status", "nope", store.folder)
    assert ended.value.code == 2
    assert "'completed', 'diverged', 'failed'" in capsys.readouterr().err
    code, told = call(capsys, "list", "--method", "nope", store.folder)
    assert (code, told.strip()) == (0, "no run with these names")


def test_nothing_to_verify_is_said(tmp_path, capsys):
    assert truth.main(["verify", "--folder", str(tmp_path / "missing")]) == 2
    assert "nothing to verify" in capsys.readouterr().err
