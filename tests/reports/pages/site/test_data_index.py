"""The list of data sets by suite."""

import re

from bnnbench.reports.pages.site.data_pages import _of_most_official, data_index
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.facts import data_facts
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


def test_a_data_set_is_described_by_its_most_official_rows():
    every = {
        origin: data_facts(benchmarks([record(facts={"train_rows": rows}, origin=origin)])[0])
        for origin, rows in {"stand-in": 10, "subset": 20, "original": 30}.items()
    }
    assert _of_most_official(every) is every["original"]
    some = {origin: facts for origin, facts in every.items() if origin != "original"}
    assert _of_most_official(some) is every["subset"]
