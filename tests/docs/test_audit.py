"""The audit's record is as expected, and comparisons that need no environment still hold."""

import numpy as np
import pytest

from docs.generate.audit import others
from docs.generate.audit.__main__ import COMPARISONS
from docs.generate.audit.comparison import by_draws, equal, with_errors
from docs.generate.audited import OURS, answer, content, rows


def test_no_comparison_that_was_kept_is_a_surprise():
    assert [row for row in rows() if answer(row) == "different"] == []


def test_every_comparison_was_made_with_six_libraries_and_more():
    assert content()["comparisons"].keys() == COMPARISONS.keys()
    libraries = {row["library"] for row in rows()} - {*OURS}
    assert len(libraries) >= 9
    assert all(row["version"] for row in rows() if row["library"] in libraries)


@pytest.mark.parametrize("compare", [others.of_gaussian_processes, others.of_ridge])
def test_libraries_of_this_environment_agree_today(compare):
    pytest.importorskip("gpytorch")
    found = list(compare())
    assert len(found) >= 2
    assert [each for each in found if not each.agrees] == []


def test_a_wrong_digit_and_a_shifted_mean_are_differences():
    same = "library", "1", "method", "quantity"
    numbers = np.linspace(1, 2, 10)
    assert equal(*same, numbers, numbers * (1 + 1e-12)).agrees
    assert not equal(*same, numbers, numbers * (1 + 1e-6)).agrees
    rng = np.random.default_rng(0)
    first, second = (with_errors(rng.standard_normal((4000, 12))) for _ in range(2))
    assert by_draws(*same, first, second).agrees
    assert not by_draws(*same, first, (second[0] + 0.15, second[1])).agrees


def test_errors_by_batches_agree_with_a_correlated_chain():
    """The mean of an AR(1) chain has (1 + a) / (1 - a) times the variance of independent ones."""
    rng, a, draws = np.random.default_rng(1), 0.8, 400_000
    noise = rng.standard_normal(draws)
    chain = np.empty(draws)
    chain[0] = noise[0]
    for step in range(1, draws):
        chain[step] = a * chain[step - 1] + (1 - a**2) ** 0.5 * noise[step]
    _, error = with_errors(chain[:, None], batches=400)
    assert error == pytest.approx(((1 + a) / (1 - a) / draws) ** 0.5, rel=0.15)
