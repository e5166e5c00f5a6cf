"""Records of earlier schemas in the words of today."""

from dataclasses import replace

from bnnbench.engine.records.record import SCHEMA
from bnnbench.engine.store.earlier.schemas import with_declared_constants, with_registered_names
from tests.engine.records.test_record import RECORD

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


def test_the_constant_of_earlier_records_is_declared_and_no_other_method():
    constant = replace(RECORD, run={"method": {"type": "marginal"}}, diagnostics={})
    assert with_declared_constants(constant).diagnostics == {"ignores_inputs": 1.0}
    other = replace(RECORD, run={"method": {"type": "adamw"}}, diagnostics={})
    assert with_declared_constants(other) is other
    declared = replace(constant, diagnostics={"ignores_inputs": 0.0})
    assert with_declared_constants(declared) is declared
