"""The least expected error of a mean, by sampling."""

import dataclasses

import numpy as np
import pytest

from bnnbench.reports.papers.sampling_error import least_error, unreachable
from tests.reports.papers.test_verdicts import PRINTED

ERROR = dataclasses.replace(PRINTED, paper="001", table="2", metric="eps_mu")


@pytest.mark.parametrize("bias", [0.0, 0.5])
def test_exact_means_have_the_least_error(bias):
    """Units of different deviations; a bias is in standard errors of their sampled means."""
    rng = np.random.default_rng(0)
    std = np.exp(rng.standard_normal(400))
    samples = std * rng.standard_normal((1000, 400))
    error = np.abs(bias * std / np.sqrt(1000) - samples.mean(0)).mean() / samples.std(0).mean()
    least = least_error(ERROR)
    assert error == pytest.approx(least, rel=0.15) if not bias else error > least


def test_only_errors_of_a_mean_have_one():
    assert least_error(dataclasses.replace(ERROR, metric="eps_sigma")) is None
    assert least_error(dataclasses.replace(ERROR, table="4")) is None
    assert unreachable(dataclasses.replace(ERROR, value=0.03)) == ""
    assert "0.0252" in unreachable(dataclasses.replace(ERROR, value=0.01))
