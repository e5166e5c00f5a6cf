"""The runs of a store are listed."""

import json

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
