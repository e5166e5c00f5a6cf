"""The advice that ships with a version comes from docs/bundle, and a new user reads it."""

import pytest

from bnnbench.reports.judge.answers import answer
from bnnbench.reports.judge.over_sets.worth import TABLE, shipped_advice
from bnnbench.reports.read.benchmarks import benchmarks
from docs.generate.shipped_advice import table
from tests.records import changed
from tests.reports.judge.test_conclusion import around, records_of


@pytest.mark.long
def test_shipped_advice_agrees_with_the_bundle():
    assert TABLE.read_text(encoding="utf-8") == table(), (
        "run python -m docs.generate.shipped_advice"
    )


def test_a_custom_table_of_classes_has_the_advice_from_other_tables():
    runs = records_of("mine", ("nll",), {"A": around(1.0), "B": around(2.0, stream=1)})
    runs = [changed(run, facts={**run.circumstances.facts, "features": 3}) for run in runs]
    advised = answer(benchmarks(runs)).from_others
    assert advised == shipped_advice("classification")
    assert advised.startswith("From ")
    assert "On a data set left out of these" in advised


def test_images_have_no_advice_from_tables():
    runs = records_of("mine", ("nll",), {"A": around(1.0), "B": around(2.0, stream=1)})
    assert answer(benchmarks(runs)).from_others == ""
