"""Scores against a known distribution, read from records."""

import math

import numpy as np
import pytest

from bnnbench.reports.pages.report.content import content
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.load import read
from bnnbench.reports.read.predictions.oracles import EARNED, RANK, RISK, oracle_comparison
from tests.reports.first_pages import render
from tests.reports.synthetic import keep, record

RISKS = {"Sure": [0.5, 0.9, 0.7], "Honest": [0.3, 0.2, 0.4]}
CLAIMS = {"Sure": [0.0, 0.0, 0.0], "Honest": [0.01, 0.03, 0.02]}
EARNS = {"Sure": [0.2, 0.4, 0.3], "Honest": [0.02, 0.02, 0.04]}
EXACT = {"excess_risk": 0.1, "claimed_variance": 0.01, "earned_variance": 0.01}


def runs():
    """Return three functions, and two seeds of the first function of one method."""
    for method, risks in RISKS.items():
        for fold, risk in enumerate(risks):
            law = {
                "excess_risk": risk,
                "claimed_variance": CLAIMS[method][fold],
                "earned_variance": EARNS[method][fold],
            }
            if method == "Honest":
                law["epistemic_rank"] = 0.5 + 0.1 * fold
            scores = {"clean": {"rmse": 1.0}, "law": law, "exact_posterior": EXACT}
            yield record(method, "drawn", fold, scores=scores, origin="generated")
    other = {**scores, "law": {**law, "excess_risk": 0.6}}
    yield record("Honest", "drawn", 2, seed=1, scores=other, origin="generated")


@pytest.fixture
def found():
    (benchmark,) = benchmarks([*runs()])
    comparison = oracle_comparison(benchmark)
    assert comparison is not None
    return comparison


def test_methods_are_ordered_by_risk_and_seeds_are_averaged_first(found):
    assert [s.method for s in found.standings] == ["Honest", "Sure"]
    honest, sure = found.standings
    risks = np.array([0.3, 0.2, 0.5])  # 0.4 and 0.6 of the last function
    assert honest.mean(RISK).value == pytest.approx(risks.mean())
    assert honest.mean(RISK).error == pytest.approx(risks.std(ddof=1) / 3**0.5)
    assert sure.regret(found.exact).value == pytest.approx(0.6)
    assert found.functions == 3


def test_calibration_is_the_ratio_of_means_with_the_jackknifes_error(found):
    honest = found.standings[0]
    claimed, earned = np.array(CLAIMS["Honest"]), np.array(EARNS["Honest"])
    assert honest.calibration.value == pytest.approx(claimed.sum() / earned.sum())
    left_out = [np.delete(claimed, k).sum() / np.delete(earned, k).sum() for k in range(3)]
    expected = math.sqrt(2 / 3 * ((left_out - np.mean(left_out)) ** 2).sum())
    assert honest.calibration.error == pytest.approx(expected)
    assert honest.mean(EARNED).value == pytest.approx(earned.mean())


def test_a_score_that_nobody_has_is_not_a_number(found):
    assert math.isnan(found.standings[1].mean(RANK).value)
    assert math.isnan(found.exact.mean(RANK).error)


def test_other_data_have_no_law():
    (benchmark,) = benchmarks([record()])
    assert oracle_comparison(benchmark) is None


def test_the_page_has_a_row_for_the_exact_posterior(tmp_path):
    keep(tmp_path, [*runs()])
    page = render(content(read(tmp_path)))
    assert "Known distribution of targets" in page
    assert "exact posterior" in page
    assert "0.25 ± 0.15" not in page
    assert "0.333 ± 0.088" in page  # Honest's excess risk
