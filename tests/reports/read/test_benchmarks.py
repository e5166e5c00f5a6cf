"""Benchmarks: groups of comparable runs, and their names."""

from bnnbench.engine.records.record_json import from_json, to_json
from bnnbench.reports.read.benchmarks import benchmarks
from tests.reports.synthetic import record

DEEP = {"architecture": [{"type": "linear", "outputs": 7}, {"type": "linear", "outputs": 10}]}


def test_a_benchmark_is_called_by_the_title_of_its_case():
    titled = record("AdamW", "mnist-deep", title="MNIST, a deep network")
    (found,) = benchmarks([from_json(to_json(titled))])
    assert (found.dataset, found.title) == ("mnist-deep", "MNIST, a deep network")


def test_a_case_without_a_title_is_called_by_its_name_in_words():
    assert [b.title for b in benchmarks([record("AdamW", "cifar10")])] == ["CIFAR-10"]


def test_two_networks_under_one_name_are_told_apart_behind_the_title():
    runs = record("AdamW", title="Images"), record("AdamW", title="Images", run=DEEP)
    titles = [b.title for b in benchmarks(runs)]
    assert len(set(titles)) == 2
    assert all(title.startswith("Images (") for title in titles)
