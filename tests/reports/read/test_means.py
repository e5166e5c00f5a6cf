"""Means of scores over corruptions."""

from statistics import fmean

import pytest

from bnnbench.datasets.conditions.corrupted import ALL_19, TEST_15
from bnnbench.reports.read.means import with_means
from tests.reports.synthetic import record


def corrupted(**changes):
    """Return a run whose accuracy differs under each of the 95 conditions."""
    scores = {c.name: {"accuracy": k / 100, "nll": 1.0} for k, c in enumerate(ALL_19)}
    return record(scores={"clean": {"accuracy": 1.0}} | scores, **changes)


def test_a_mean_is_over_the_corruptions_at_one_severity():
    run, found = corrupted(), with_means(corrupted())
    for word, conditions in (("corrupted", ALL_19), ("corrupted_test15", TEST_15)):
        for severity in range(1, 6):
            values = [
                run.outcome.scores[c.name]["accuracy"] for c in conditions if c.severity == severity
            ]
            assert len(values) == len(conditions) / 5
            mean = found.outcome.scores[f"{word}_{severity}"]
            assert mean["accuracy"] == pytest.approx(fmean(values))
    assert found.outcome.scores["corrupted_3"]["nll"] == 1.0
    assert all(found.outcome.scores[name] == scores for name, scores in run.outcome.scores.items())


def test_the_origin_of_a_mean_is_the_least_of_its_parts():
    origins = {c.name: "original" for c in ALL_19} | {"corrupted_saturate_2": "generated"}
    found = with_means(corrupted(condition_origins={"clean": "original"} | origins))
    assert found.circumstances.condition_origins["corrupted_2"] == "generated"
    assert found.circumstances.condition_origins["corrupted_test15_2"] == "original"
    assert found.circumstances.condition_origins["corrupted_1"] == "original"


def test_an_origin_that_this_version_does_not_know_is_the_least():
    origins = {c.name: "original" for c in ALL_19} | {"corrupted_saturate_2": "of 2030"}
    found = with_means(corrupted(condition_origins={"clean": "original"} | origins))
    assert found.circumstances.condition_origins["corrupted_2"] == "of 2030"


def test_there_is_no_mean_over_some_of_the_corruptions():
    whole = corrupted()
    short = record(
        scores={n: s for n, s in whole.outcome.scores.items() if n != "corrupted_saturate_2"}
    )
    found = with_means(short)
    assert "corrupted_2" not in found.outcome.scores
    assert {"corrupted_1", "corrupted_test15_2"} <= found.outcome.scores.keys()


def test_a_metric_that_a_part_lacks_has_no_mean():
    whole = corrupted()
    scores = dict(whole.outcome.scores) | {"corrupted_fog_4": {"accuracy": 0.5}}
    assert set(with_means(record(scores=scores)).outcome.scores["corrupted_4"]) == {"accuracy"}


def test_a_run_without_corruptions_stays_as_it_is():
    assert with_means(one := record()) is one
