"""Records of earlier schemas in the words of today."""

from dataclasses import replace

from bnnbench.suites.engine.store.earlier_schemas import with_registered_names
from bnnbench.suites.engine.store.record import SCHEMA
from tests.suites.engine.store.test_record import RECORD

MNIST = {"type": "datasets.mnist:Mnist"}


def test_a_source_that_had_the_name_of_a_case_is_the_source_itself():
    renamed = {"type": "datasets.renamed:Renamed", "source": MNIST, "alias": "mnist-640-mlp"}
    for told, today in (
        (renamed, {"type": "mnist"}),
        ({"type": "datasets.sine:Sine", "name": "sine-2"}, {"type": "sine"}),
    ):
        record = replace(RECORD, run={"source": told}, schema=2)
        assert with_registered_names(record).run == {"source": today}


def test_a_record_of_today_is_as_it_is():
    record = replace(RECORD, schema=SCHEMA)
    assert with_registered_names(record) is record
