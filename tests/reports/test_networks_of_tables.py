"""Tables that print several networks: ours is next to its own column."""

import pytest

from bnnbench.engine.declare.description import describe
from bnnbench.methods.networks.catalogue import mlp, preresnet164, vgg16, wideresnet28_10
from bnnbench.reports.papers.published import table
from bnnbench.reports.papers.reproduction import comparisons
from bnnbench.reports.read.benchmarks import benchmarks
from tests.reports.synthetic import record


def run(architecture, number, scores, dataset="cifar10", method="SWAG"):
    return record(
        method,
        profile="paper",
        dataset=dataset,
        scores=scores,
        run={"architecture": describe(architecture)},
        facts={},
        reproduces=({"paper": "002", "table": number, "departures": []},),
    )


def compared(*records):
    return [c for b in benchmarks(records) for c in comparisons(b)]


@pytest.mark.parametrize(
    ("architecture", "model"),
    [
        (vgg16(), "vgg16"),
        (preresnet164(), "preresnet164"),
        (wideresnet28_10(), "wideresnet"),
    ],
)
def test_a_network_stands_beside_its_own_column_alone(architecture, model):
    (found,) = compared(run(architecture, "7", {"clean": {"nll": 0.2}}))
    assert found.published.model == model
    assert not any("a network other than" in text for text in found.differs)


def test_a_network_of_none_of_the_columns_stands_beside_all_and_it_is_said():
    found = compared(run(vgg16(width=2), "7", {"clean": {"nll": 0.2}}))
    assert {c.published.model for c in found} == {"vgg16", "preresnet164", "wideresnet"}
    assert all(any("a network other than" in text for text in c.differs) for c in found)


def test_transfer_is_a_condition_of_what_was_learned():
    printed = table("002", "4") + table("002", "10")
    assert {(p.dataset, p.condition) for p in printed} == {("cifar10", "transfer_stl10")}
    scores = {"clean": {"nll": 0.2}, "transfer_stl10": {"nll": 0.9}}
    (found,) = compared(run(vgg16(), "4", scores))
    assert (found.condition, found.mean, found.published.value) == ("transfer_stl10", 0.9, 1.3425)
    assert found.condition_title == "transfer to STL-10"


def test_narrow_networks_are_told_from_those_of_the_large_sets():
    score = {"clean": {"rmse": 0.1}}
    wide = mlp([1000, 1000, 500, 50, 2], 1)
    (same,) = compared(run(wide, "6", score, "elevators"))
    (other,) = compared(run(mlp([100, 100, 50], 1), "6", score, "elevators"))
    assert not any("a network other than" in text for text in same.differs)
    assert any("a network other than" in text for text in other.differs)


def test_a_number_of_a_network_that_is_not_stated_stands_beside_every_network_of_ours():
    score = {"clean": {"log_likelihood_standardised": -0.7}}
    for hidden in ([1000, 1000, 500, 50, 2], [100, 100, 50]):
        (found,) = compared(run(mlp(hidden, 1), "2", score, "elevators", method="NL"))
        assert (found.published.model, found.published.method) == ("not_stated", "nl")
