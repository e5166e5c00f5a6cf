"""The list of data sets by suite."""

import re

from bnnbench.reports.board.data_pages import data_index
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.style import labels
from tests.reports.synthetic import record

COMMON = {"methodPages": [], "search": []}


def test_a_set_of_two_suites_stands_under_both():
    def of(suite, dataset):
        return benchmarks([record("AdamW", dataset, suite=suite, scores={"clean": {"rmse": 1.0}})])

    sets = {
        "yacht": {"uci": of("uci", "yacht")},
        "boston": {"uci": of("uci", "boston"), "truth": of("truth", "boston")},
    }
    text = data_index("data/index.html", sets, {name: f"of-{name}" for name in sets}, COMMON)
    _, *parts = text.split("<h2>")
    listed = {
        part.partition("</h2>")[0]: re.findall(r'href="(of-\w+)\.html"', part) for part in parts
    }
    assert listed == {
        labels.suite("truth"): ["of-boston"],
        labels.suite("uci"): ["of-boston", "of-yacht"],
    }
    assert "2 data sets" in text
