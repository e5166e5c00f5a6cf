"""Records are checked to be readable before they are written."""

import pytest

from bnnbench.engine.declare.description import digest
from bnnbench.engine.records.record_json import from_json
from bnnbench.engine.records.round_trip import NotReadable, readable_json
from bnnbench.engine.store.store import Store
from tests.engine.records.test_record import RECORD
from tests.records import changed


def nested(levels: int) -> object:
    return [nested(levels - 1)] if levels else 1


ODD = {
    "number": (2**70, "run.method.tag: a whole number of 71 bits"),
    "text": ("x" * 12_000, "run.method.tag: a text of 12,000 characters"),
    "nested": (nested(45), "run.method.tag: nested more than 40 levels"),
    "half a character": ("\ud800", "run.method.tag: text with half a character"),
}


@pytest.mark.parametrize("name", ODD)
def test_a_setting_that_no_reader_takes_is_named(tmp_path, name):
    value, place = ODD[name]
    run = {"method": {"type": "x:Y", "tag": value}}
    record = changed(RECORD, run=run, key=digest(run))
    with pytest.raises(NotReadable) as caught:
        readable_json(record)
    assert place in str(caught.value)
    with pytest.raises(NotReadable):
        Store(tmp_path).write(record, None)
    assert not any((tmp_path / "runs").iterdir())


def test_the_name_of_a_diagnostic_is_checked_and_messages_may_be_long():
    with pytest.raises(NotReadable, match="diagnostics: its name is a text of 12,000"):
        readable_json(changed(RECORD, diagnostics={"x" * 12_000: 1.0}))
    long = changed(RECORD, status="failed", error="x" * 12_000, scores={})
    assert from_json(readable_json(long)) == long
