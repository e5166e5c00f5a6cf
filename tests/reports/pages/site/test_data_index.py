"""The list of data sets, each once."""

import re

from bnnbench.reports.pages.site.data_index import (
    CLASSES,
    GENERATED,
    NUMBERS,
    data_index,
    data_sets,
)
from bnnbench.reports.pages.site.data_pages import _of_most_official
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.facts import data_facts
from bnnbench.reports.style import labels
from tests.reports.synthetic import record

COMMON = {"methodPages": [], "search": []}


def of(suite, dataset, source=None, **fields):
    """Return the benchmarks of a case in a suite."""
    run = {"source": source} if source else {}
    scores = {"clean": {"rmse": 1.0}}
    return benchmarks([record("AdamW", dataset, suite=suite, scores=scores, run=run, **fields)])


def test_a_set_of_two_suites_stands_in_the_list_once():
    boston = {"uci": of("uci", "boston"), "truth": of("truth", "boston")}
    text = data_index("data/index.html", {"boston": boston}, {"boston": "of-boston"}, COMMON)
    assert text.count('href="of-boston.html"') == 1
    assert f"{labels.suite('uci')}, {labels.suite('truth')}" in text
    assert "1 data set in 1 case" in text


def test_cuts_of_a_source_and_networks_on_it_are_one_data_set():
    mnist = {"type": "mnist"}
    few = {"type": "limited", "train": 320, "source": mnist}
    sets = {
        "mnist-320": {"mnist": of("mnist", "mnist-320", few)},
        "mnist-lenet": {"mnist": of("mnist", "mnist-lenet", {"type": "grey", "source": few})},
        "sine": {"toy": of("toy", "sine", {"type": "sine"}, origin="generated")},
        "yacht": {"uci": of("uci", "yacht", {"type": "uci", "name": "yacht"},
                            target={"name": "y", "unit": ""})},
    }  # fmt: skip
    titles = [
        (one.title, [c.page for c in one.cases]) for one in data_sets(sets, {n: n for n in sets})
    ]
    assert titles == [
        ("MNIST", ["mnist-320", "mnist-lenet"]), ("sine", ["sine"]), ("yacht", ["yacht"]),
    ]  # fmt: skip
    text = data_index("data/index.html", sets, {name: f"of-{name}" for name in sets}, COMMON)
    assert re.findall("<h2>(.*?)</h2>", text) == [NUMBERS, CLASSES, GENERATED]


def test_a_data_set_is_described_by_its_most_official_rows():
    every = {
        origin: data_facts(benchmarks([record(facts={"train_rows": rows}, origin=origin)])[0])
        for origin, rows in {"stand-in": 10, "subset": 20, "original": 30}.items()
    }
    assert _of_most_official(every) is every["original"]
    some = {origin: facts for origin, facts in every.items() if origin != "original"}
    assert _of_most_official(some) is every["subset"]
