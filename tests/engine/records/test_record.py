"""Records as JSON."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnnbench.engine.declare.description import digest
from bnnbench.engine.records.cost import Cost
from bnnbench.engine.records.flat import gathered
from bnnbench.engine.records.record import Record, newest
from bnnbench.engine.records.record_json import LaterSchema, from_json, to_json
from tests.records import changed

RUN = {"method": {"type": "x:Y"}}

RECORD = gathered(
    key=digest(RUN),
    suite="miniature",
    profile="quick",
    dataset="line",
    origin="original",
    method="Mean",
    fold=0,
    seed=0,
    run=RUN,
    status="completed",
    error=None,
    scores={"clean": {"rmse": 0.1}},
    condition_origins={"clean": "original"},
    diagnostics={"loss": math.inf},
    cost=Cost(1.5, 0.25, 1024.0, 2),
    facts={"rows": 24, "constant_columns": []},
    provenance={"finished": "2026-01-01T00:00:00.000+00:00"},
    reproduces=({"paper": "004", "table": "1", "departures": ["one"]},),
    target={"name": "height", "unit": "m", "mean": 5.0, "std": 2.0},
)


def numbered(number: int, **changes: object) -> Record:
    """Return `RECORD` with other settings, and so with another key."""
    run = {**RUN, "seed": number}
    return changed(RECORD, run=run, key=digest(run), seed=number, **changes)


def test_a_record_is_read_as_it_was_written():
    assert from_json(to_json(RECORD)) == RECORD


@given(st.floats())
def test_every_float_survives_to_the_last_bit(value):
    record = changed(RECORD, scores={"clean": {"rmse": value}})
    back = from_json(to_json(record)).outcome.scores["clean"]["rmse"]
    assert np.float64(back).tobytes() == np.float64(value).tobytes() or (back != back)
    assert (back != back) == (value != value)


def test_the_file_is_strict_json_even_with_infinities():
    assert "Infinity" not in to_json(RECORD)


def test_numbers_of_numpy_are_numbers():
    record = changed(RECORD, facts={"rows": np.int64(3), "share": np.float32(0.5)})
    assert from_json(to_json(record)).circumstances.facts == {"rows": 3, "share": 0.5}


def test_a_record_cut_anywhere_is_no_record():
    text = to_json(RECORD)
    for length in range(len(text)):
        with pytest.raises(ValueError):  # noqa: PT011 - any message will do
            from_json(text[:length])


@pytest.mark.parametrize("text", ["[]", "null", "{}", "3", '{"schema": 1}'])
def test_other_json_is_no_record(text):
    with pytest.raises(ValueError, match=r"not a record|schema"):
        from_json(text)


def test_a_later_schema_says_so():
    later = to_json(RECORD).replace('"schema": 3', '"schema": 4')
    with pytest.raises(LaterSchema, match="schema 4 belongs to a later version"):
        from_json(later)


def own(key, chosen, method="AdamW", **source):
    source = {"path": "/a/data.csv", "target_column": "price", "sha256": "1", "drop": []} | source
    run = {**RECORD.run, "source": source}
    provenance = {"finished": chosen}
    return changed(
        RECORD, key=key, origin="own", method=method, run=run, provenance=provenance, dataset="data"
    )


def test_files_of_one_name_and_targets_of_one_file_are_data_sets_of_their_own():
    records = [
        own("0" * 20, "2026-01-01"),
        own("1" * 20, "2026-01-02", path="/b/data.csv"),
        own("2" * 20, "2026-01-03", target_column="rooms"),
    ]
    assert newest(records) == records


@pytest.mark.parametrize("change", [{"sha256": "2"}, {"drop": ["row"]}])
def test_runs_of_own_data_that_changed_do_not_stand_beside_later_ones(change):
    before = [own("0" * 20, "2026-01-01"), own("1" * 20, "2026-01-01", "PBP")]
    other = own("2" * 20, "2026-01-01", path="/b/data.csv")
    after = own("3" * 20, "2026-01-02", **change)
    assert newest([*before, other]) == [*before, other]
    assert newest([*before, other, after]) == [other, after]


def test_of_two_settings_under_one_name_the_one_chosen_last_counts():
    first = replace(RECORD, key="0" * 20)
    second = changed(RECORD, key="1" * 20, provenance={"finished": "2026-02-01"})
    elsewhere = replace(second, key="2" * 20, dataset="other")
    assert newest([second, elsewhere, first]) == [second, elsewhere]
    again = changed(first, provenance={"finished": "2026-01-01", "chosen": "2026-03-01"})
    assert newest([second, elsewhere, again]) == [again, elsewhere]


def test_equal_fields_of_two_records_are_held_once():
    first, second = (from_json(to_json(changed(RECORD, seed=seed))) for seed in (7, 8))
    assert first.seed != second.seed
    assert first.evaluations == second.evaluations
    assert first.circumstances.facts is second.circumstances.facts
