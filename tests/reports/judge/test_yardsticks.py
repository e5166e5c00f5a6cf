"""Methods that are no networks are named for scale, and take a headline only if asked."""

from dataclasses import replace

import numpy as np
import pytest

from bnnbench.commands.running.first_method import first_record
from bnnbench.reports.judge.answers import answer
from bnnbench.reports.judge.measures import judged
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.style.families import family_of, networks_among
from tests.reports.synthetic import record

TYPES = {
    "Boosting": "ngboost",
    "GP": "gaussian_process",
    "AdamW": "adamw",
    "MC dropout": "mc_dropout",
}


def runs_of(means, dataset="cifar10"):
    rng = np.random.default_rng(7)
    return [
        record(m, dataset, scores={"clean": {"nll": mean + rng.normal() / 100}}, seed=seed,
               settings={"type": TYPES[m]})
        for m, mean in means.items() for seed in range(6)
    ]  # fmt: skip


AHEAD = {"AdamW": 1.2, "MC dropout": 1.4, "Boosting": 1.0, "GP": 1.1}


def test_a_yardstick_that_is_ahead_is_named_but_does_not_take_the_headline():
    records = runs_of(AHEAD)
    told = answer(benchmarks(records))
    assert "AdamW has the best NLL" in told.best
    assert told.line.startswith("CIFAR-10: AdamW has the best NLL")
    assert told.yardsticks.startswith("Boosting and GP are no networks and shown for scale; by NLL")
    assert "by NLL, Boosting has a better mean than any network" in told.yardsticks
    assert first_record(records).method == "AdamW"


def test_a_reader_who_asks_sees_the_yardstick_first():
    (asked,) = [replace(b, with_yardsticks=True) for b in benchmarks(runs_of(AHEAD))]
    told = answer([asked])
    assert "Boosting has the best NLL" in told.best
    assert told.yardsticks == ""
    assert first_record(runs_of(AHEAD), with_yardsticks=True).method == "Boosting"


def test_tables_compare_all_methods():
    (benchmark,) = benchmarks(runs_of(AHEAD))
    assert judged(benchmark, "nll").decision.leaders == ("Boosting",)
    assert judged(benchmark.in_headlines, "nll").decision.leaders == ("AdamW",)


def test_without_a_network_all_methods_take_part():
    told = answer(benchmarks(runs_of({"Boosting": 1.0, "GP": 1.5})))
    assert "Boosting has the best NLL" in told.best
    assert told.yardsticks == ""


def test_a_yardstick_behind_is_not_called_better():
    told = answer(benchmarks(runs_of({"AdamW": 1.0, "MC dropout": 1.2, "GP": 1.5})))
    assert told.yardsticks == "GP is no network and shown for scale."


@pytest.mark.parametrize("name", ["sngp", "deep_kernel"])
def test_a_network_with_a_process_on_its_features_is_a_network(name):
    assert networks_among({"Mine": family_of({"type": name}), "Mean": "other"}, ["Mean"]) == [
        "Mine",
        "Mean",
    ]
