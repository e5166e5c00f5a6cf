"""Printed numbers of many networks together, and records with an artificial cdf at the truth."""

import numpy as np
import pytest

from bnnbench.datasets.generated.curves import SineFar
from bnnbench.engine.declare.description import describe
from bnnbench.methods.networks.catalogue import LEAKY, mlp
from bnnbench.reports.papers import reproduction
from bnnbench.reports.papers.coverage import coverage
from bnnbench.reports.papers.published import table
from bnnbench.reports.papers.reproduction import reproductions
from bnnbench.reports.papers.together import NETWORKS, together
from bnnbench.reports.papers.verdicts import judge
from bnnbench.reports.read.benchmarks import benchmarks
from tests.reports.synthetic import record

CLAIMS = tuple({"paper": "000", "table": name, "whole": True} for name in ("sec 5.1", "App C"))
FACTS = {"train_rows": 200, "test_rows": 820}
RUN = {"source": describe(SineFar()), "architecture": describe(mlp([32, 32], 1, LEAKY))}
POSITIONS = (-14.0, -12.0, 12.0, 14.0)
# Calibrated networks: of 100, the number in an interval equals its nominal mass.
RIGHT = (np.arange(NETWORKS) + 0.5) / NETWORKS


def network(seed: int, negative: float, positive: float, fold: int = 0, **changes):
    cdf = {"cdf_at_truth_negative": negative, "cdf_at_truth_positive": positive}
    details = {"origin": "generated", "facts": FACTS, "reproduces": CLAIMS, "run": RUN, **changes}
    return record("MP", "sine_far", fold, seed, {"clean": cdf}, **details)


def of_three_sets(cdf=RIGHT, **changes):
    """Return the runs of networks on three data sets, with left sides of growing certainty."""
    return [
        network(seed, 0.5 + (value - 0.5) * (1 + 0.2 * fold), value, fold, **changes)
        for fold in range(3)
        for seed, value in enumerate(cdf)
    ]


def printed(name: str, **parts: str):
    """Return the printed number with these circumstances."""
    (found,) = [row for row in table("000", name) if parts.items() <= row.protocol.items()]
    return found


@pytest.mark.parametrize(("interval", "mass"), [("1sigma", 68), ("2sigma", 95), ("3sigma", 99.7)])
def test_an_interval_covers_the_networks_that_are_in_it(interval, mass):
    row = printed("sec 5.1", x="positive", interval=interval)
    values, differs = together(row, of_three_sets(), "clean")
    assert values == pytest.approx(dict.fromkeys(range(3), mass / 100), abs=0.011)
    assert differs == ()


def test_sides_are_told_apart_and_each_data_set_has_its_own_value():
    row = printed("sec 5.1", x="negative", interval="1sigma")
    values, _ = together(row, of_three_sets(), "clean")
    # On fold k the networks are 1 + k / 5 times as far from one half as on the right.
    assert values == pytest.approx({k: 0.68 / (1 + 0.2 * k) for k in range(3)}, abs=0.011)


def test_correlations_agree_with_mass_and_counted_networks():
    masses = np.arange(1, 101) / 100
    runs = of_three_sets()
    counted = {
        side: np.array([(np.abs(RIGHT - 0.5) * factor < p / 2).mean() for p in masses])
        for side, factor in (("positive", 1.0), ("negative", 1.4))
    }
    for side, cover in counted.items():
        values, _ = together(printed("App C", x=side), runs, "clean")
        assert values[2] == pytest.approx(np.corrcoef(masses, cover)[0, 1], abs=1e-3)
    both = np.concatenate([counted["negative"], counted["positive"]])
    values, _ = together(printed("App C", x="both"), runs, "clean")
    assert values[2] == pytest.approx(np.corrcoef(np.tile(masses, 2), both)[0, 1], abs=1e-3)


def test_all_nine_printed_numbers_are_compared_with_one_value_a_data_set():
    compared = [c for r in reproductions(benchmarks(of_three_sets())) for c in r.comparisons]
    assert len(compared) == 9
    for comparison in compared:
        assert (comparison.repeats, comparison.runs, comparison.differs) == (3, 300, ())
        assert "one data set" in judge(comparison).reasons[0]
    tables = coverage({"toy": benchmarks(of_three_sets())})
    kinds = [
        n.kind for t in tables if t.paper == "000" for n in t.numbers if not t.number.isdigit()
    ]
    assert len(kinds) == 9
    assert set(kinds) <= {"agrees", "differs", "differs much"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"cdf": RIGHT[::5]}, "20 networks, not 100"),
        ({"run": {**RUN, "architecture": describe(mlp([32, 32], 1))}}, "a network other than"),
        ({"reproduces": tuple({**c, "whole": False} for c in CLAIMS)}, "smaller than the paper's"),
    ],
)
def test_fewer_networks_another_network_or_a_short_profile_do_not_compare(changes, reason):
    compared = [
        c for r in reproductions(benchmarks(of_three_sets(**changes))) for c in r.comparisons
    ]
    assert len(compared) == 9
    for comparison in compared:
        assert any(reason in text for text in comparison.differs)
        assert judge(comparison).kind == "not comparable"


def test_data_sets_without_a_correlation_are_named():
    runs = [network(seed, 1.0, RIGHT[seed], fold) for fold in range(3) for seed in range(NETWORKS)]
    values, differs = together(printed("App C", x="negative"), runs, "clean")
    assert values == {}
    assert differs == ("coverage is constant on 3 of 3 data sets",)


def test_runs_without_the_score_have_no_number():
    runs = [record("MP", "sine_far", 0, k, {"clean": {"rmse": 1.0}}, run=RUN) for k in range(3)]
    assert together(printed("App C", x="both"), runs, "clean")[0] == {}


def test_coverage_is_counted_at_each_position_before_the_median():
    """A half, a third and a tenth of the networks cover three positions; the median is a third."""
    inside = {-12.0: 50, -14.0: 33, -16.0: 10, 12.0: 100}
    runs = []
    for seed in range(NETWORKS):
        scores = {
            f"at_{x:g}": {"cdf_at_each": 0.5 if seed < n else 0.001} for x, n in inside.items()
        }
        traits = {f"at_{x:g}": {"title": f"x = {x:g}", "position": x} for x in inside}
        given = {"clean": {"rmse": 1.0}} | scores
        runs.append(record("MP", "sine_far", 0, seed, given, run=RUN, condition_traits=traits))
    found = {
        side: together(printed("sec 5.1", x=side, interval="1sigma"), runs, "clean")[0]
        for side in ("negative", "positive")
    }
    assert found == {"negative": {0: 0.33}, "positive": {0: 1.0}}


def test_a_printed_number_is_computed_once_however_many_positions_are_tested(monkeypatch):
    computed = []
    monkeypatch.setattr(
        reproduction, "together", lambda *args: computed.append(args) or together(*args)
    )
    places = {f"at_{x:g}": {"cdf_at_each": 0.5} for x in POSITIONS}
    traits = {f"at_{x:g}": {"title": f"x = {x:g}", "position": x} for x in POSITIONS}
    given = {"clean": {"rmse": 1.0}} | places
    changes = {"reproduces": CLAIMS, "run": RUN, "condition_traits": traits}
    runs = [record("MP", "sine_far", 0, seed, given, **changes) for seed in range(3)]
    list(reproduction.comparisons(*benchmarks(runs)))
    assert len(computed) == 9
