"""Fit costs in words: of processors if all fits have them, with the load by others."""

from dataclasses import replace

import pytest

from bnnbench.engine.records.cost import Cost
from bnnbench.reports.judge.summaries.costs import costs, load_in_words
from bnnbench.reports.read.benchmarks import benchmarks
from tests.reports.synthetic import runs_of


def with_costs(by_method):
    """Return benchmarks whose methods have these costs, one for every seed."""
    runs = runs_of({method: [1.0] * len(own) for method, own in by_method.items()})
    return benchmarks(
        [replace(record, cost=by_method[record.method][record.seed]) for record in runs]
    )


def cost(wall, processors=None, elsewhere=None):
    return Cost(wall, 0.1, 1.0, fit_cpu_seconds=processors, busy_elsewhere=elsewhere)


def test_processor_seconds_replace_those_of_the_clock_where_all_fits_have_them():
    found = costs(with_costs({"AdamW": [cost(9.0, 2.0)], "IVON": [cost(9.0, 3.0)]}))
    assert found
    assert found.ratios == pytest.approx({"AdamW": 1.0, "IVON": 1.5})
    assert found.seconds("IVON") == "3 s of processor time"


def test_they_do_not_where_one_fit_lacks_them():
    found = costs(with_costs({"AdamW": [cost(2.0, 2.0), cost(4.0)], "IVON": [cost(9.0, 3.0)] * 2}))
    assert found
    assert found.ratios["IVON"] == pytest.approx(3.0)
    assert found.seconds("AdamW") == "3 s"


def test_a_busy_machine_is_mentioned():
    busy = with_costs({"AdamW": [cost(2.0, 2.0, 0.1), cost(2.0, 2.0, 0.55), cost(2.0, 2.0)]})
    assert load_in_words(busy).startswith(
        "During 1 of 2 timed fits, other work took more than 20% of the machine's processors (at "
        "most 55%)"
    )
    assert load_in_words(with_costs({"AdamW": [cost(2.0, 2.0, 0.2), cost(1.0)]})) == ""
