"""Benchmarks: groups of comparable runs, and their names."""

import math

from bnnbench.engine.records.record_json import from_json, to_json
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.success import Success, over_all, successes
from tests.records import changed
from tests.reports.synthetic import record, runs_of

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


def store(dataset="boston"):
    runs = runs_of({"A": [1.0] * 4, "B": [1.0] * 4}, dataset=dataset)
    runs[5] = changed(runs[5], status="diverged")
    runs[6] = changed(runs[6], status="failed")
    runs[0] = changed(runs[0], diagnostics={"converged": 0.0})
    return runs[:-1]


def test_every_run_that_was_asked_for_is_accounted_for():
    (benchmark,) = benchmarks(store())
    found = successes(benchmark, ("A", "B", "C"))
    assert found["A"] == Success("A", 4, 4, unconverged=1)
    assert found["B"] == Success("B", 4, 1, 1, 1)
    assert found["C"] == Success("C", 4, 0)
    assert [s.missing for s in found.values()] == [0, 1, 4]
    assert (found["A"].whole, found["B"].whole) == (True, False)
    assert found["B"].share == 0.25


def test_data_sets_add_up():
    both = benchmarks([*store(), *store("yacht")])
    found = over_all(both, ("A", "B"))
    assert found["B"] == Success("B", 8, 2, 2, 2)
    assert found["A"].unconverged == 2


def test_nothing_asked_has_no_share():
    assert math.isnan(over_all([], ("A",))["A"].share)
    assert over_all([], ("A",))["A"] == Success("A", 0, 0)
