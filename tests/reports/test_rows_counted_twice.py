"""A method whose prior uses the rows that it is fitted to is named under every table."""

import pytest

from bnnbench.commands.report import main
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.sections.condition_tables import condition_table
from tests.reports.synthetic import keep, record

WORDS = "Prior means from the fitted rows, which therefore count twice"


def runs(shared):
    informed = [record("Informed", seed=s, diagnostics=shared) for s in range(3)]
    return [*informed, *(record("Plain", seed=s) for s in range(3))]


@pytest.mark.parametrize(
    ("diagnostics", "named"),
    [
        ({"prior_rows_shared": 1.0}, ("Informed",)),
        ({"prior_rows_shared": 0.0}, ()),
        ({}, ()),
    ],
)
def test_tables_name_it(tmp_path, diagnostics, named):
    (benchmark,) = benchmarks(runs(diagnostics))
    table = condition_table(benchmark, "clean", list(benchmark.runs))
    assert table.rows_counted_twice == named
    keep(tmp_path / "cifar10", runs(diagnostics))
    assert main([str(tmp_path / "cifar10")]) == 0
    for file in ("report.html", "tables.md"):
        assert (WORDS in (tmp_path / "cifar10" / file).read_text()) == bool(named)
