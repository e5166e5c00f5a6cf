"""The tables that count are those of the rule, by the stored health; the page is its record's."""

import pytest

from bnnbench.datasets.health.checks import health_of
from bnnbench.datasets.health.rule import failures
from bnnbench.datasets.official.collected.entries import ENTRIES
from bnnbench.datasets.official.collected.table import CollectedTable
from docs.generate.collected import PAGE, healths, page

HEALTHS = healths()


def test_tables_count_by_the_rule_on_the_recorded_health():
    assert HEALTHS.keys() == ENTRIES.keys()
    for name, entry in ENTRIES.items():
        assert entry.counted == (not failures(entry, HEALTHS[name])), name


def test_recorded_constant_and_numbering_columns_are_left_out():
    for name, entry in ENTRIES.items():
        health = HEALTHS[name]
        assert set(health.constant) | set(health.numbering) <= set(entry.dropped), name


def test_the_page_is_written_from_the_record():
    assert PAGE.read_text(encoding="utf-8") == page(HEALTHS)


@pytest.mark.parametrize("name", ["servo", pytest.param("vowel", marks=pytest.mark.long)])
def test_health_measured_again_is_as_recorded(name, data_folder, monkeypatch):
    monkeypatch.setenv("BNNBENCH_DATA", str(data_folder))
    health, recorded = health_of(CollectedTable(name)), HEALTHS[name]
    for field in ("distinct", "twin_rows", "units", "constant", "part", "wins"):
        assert getattr(health, field) == getattr(recorded, field)
    for field in ("loss_constant", "loss_linear", "hits_boosting", "gain", "column_hits"):
        assert getattr(health, field) == pytest.approx(getattr(recorded, field), rel=1e-2)
