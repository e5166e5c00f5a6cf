"""Ranks by two scores of the same rows, and their bootstrap."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from bnnbench.reports.judge.statistics.rank_bars import agreement

RNG = np.random.default_rng(1)


def scores(means, noise, rows=40):
    return {f"m{k}": mean + noise * RNG.normal(size=rows) for k, mean in enumerate(means)}


def test_ranks_and_their_correlation_agree_with_the_means():
    first, second = scores([3.0, 1.0, 2.0, 5.0], 2.0), scores([2.0, 1.0, 4.0, 3.0], 2.0)
    found = agreement(first, second)
    means = [[values.mean() for values in table.values()] for table in (first, second)]
    assert found.rho.rank == pytest.approx(spearmanr(*means).statistic)
    ordered = sorted(first, key=lambda m: first[m].mean())
    assert [found.first[m].rank for m in ordered] == [1, 2, 3, 4]
    for places in (found.first, found.second):
        assert all(place.low <= place.rank <= place.high for place in places.values())


def test_clear_gaps_have_no_bars_and_equal_methods_have_wide_ones():
    clear = agreement(scores([0, 10, 20, 30], 0.1), scores([0, 10, 20, 30], 0.1))
    assert all(place.low == place.high for place in clear.first.values())
    assert (clear.rho.low, clear.rho.high) == pytest.approx((1, 1))
    equal = agreement(scores([0, 0, 0, 0], 1.0), scores([0, 0, 0, 0], 1.0))
    assert max(place.high - place.low for place in equal.first.values()) >= 2
    assert equal.rho.high - equal.rho.low > 0.5


def test_rows_are_resampled_together():
    """Differences that are equal at every row are certain, for any rows."""
    common = RNG.normal(size=40) * 100
    shifted = {f"m{k}": common + k for k in range(4)}
    found = agreement(shifted, shifted)
    assert all(place.low == place.rank == place.high for place in found.first.values())


def test_methods_without_the_other_score_are_left_out_and_two_are_too_few():
    first = scores([0, 1, 2], 1.0)
    with pytest.raises(ValueError, match="three methods or more to correlate ranks; got 2"):
        agreement(first, {name: first[name] for name in ("m0", "m1")})
