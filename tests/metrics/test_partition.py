import itertools
import time

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from sklearn.cluster import KMeans

from bnnbench.metrics.partition import minimum_variance_bins, simplex_bins


def _within(values: np.ndarray, index: np.ndarray) -> float:
    return sum(np.square(part - part.mean()).sum() for part in _parts(values, index))


def _parts(values: np.ndarray, index: np.ndarray) -> list[np.ndarray]:
    return [values[index == b] for b in np.unique(index)]


tenths = some.lists(some.integers(0, 32).map(lambda i: i / 32), min_size=1, max_size=9)
reals = some.lists(some.floats(0, 1, allow_subnormal=False), min_size=1, max_size=9)


@settings(max_examples=150)
@given(some.one_of(tenths, reals), some.integers(1, 5))
def test_no_partition_has_less_variance(values, bins):
    """Enumerate all partitions into intervals of distinct values."""
    values = np.array(values)
    distinct = np.unique(values)
    index = minimum_variance_bins(torch.from_numpy(values), bins).numpy()
    used = min(bins, len(distinct))
    best = min(
        _within(values, np.searchsorted(distinct[list(cuts)], values, side="right"))
        for cuts in itertools.combinations(range(1, len(distinct)), used - 1)
    )
    assert sorted(set(index)) == list(range(used))
    assert _within(values, index) == pytest.approx(best, abs=1e-15)
    assert (np.diff(index[np.argsort(values, kind="stable")]) >= 0).all()


def test_of_equally_good_partitions_the_earliest_cut_is_taken():
    values = torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0], dtype=torch.float64)
    assert minimum_variance_bins(values[:3], 2).tolist() == [0, 1, 1]
    assert minimum_variance_bins(values, 2).tolist() == [0, 0, 1, 1, 1]


def test_equal_values_stay_together_wherever_they_stand():
    values = torch.tensor([0.9, 0.2, 0.9, 0.2, 0.9], dtype=torch.float64)
    assert minimum_variance_bins(values, 4).tolist() == [1, 0, 1, 0, 1]
    assert minimum_variance_bins(values[:1], 20).tolist() == [0]


def test_clusters_close_to_1_are_told_apart():
    gaps = torch.tensor([1e-9, 2e-9, 4e-6, 5e-6, 1e-3, 1.1e-3], dtype=torch.float64)
    assert minimum_variance_bins(1 - gaps, 3).tolist() == [2, 2, 2, 2, 1, 0]
    assert minimum_variance_bins(1 - gaps[:4], 2).tolist() == [1, 1, 0, 0]
    assert minimum_variance_bins(1 - gaps[:4], 3).tolist() == [2, 2, 1, 0]


def test_ten_thousand_points_take_less_than_two_seconds_and_beat_k_means():
    rng = np.random.default_rng(0)
    values = 1 - rng.random(10_000) ** 3 * 0.9
    start = time.perf_counter()
    index = minimum_variance_bins(torch.from_numpy(values), 20).numpy()
    assert time.perf_counter() - start < 2
    rival = KMeans(20, n_init=1, random_state=0).fit(values[:, None])
    assert _within(values, index) <= rival.inertia_
    assert len(np.unique(index)) == 20


def _reference_simplex_bins(probs: np.ndarray, minimum: int) -> list[list[int]]:
    """Return the bins by definition: the splittable bin of largest variance first, one by one."""
    bins, final = [list(range(len(probs)))], []
    while bins:
        spread = [probs[b].var(0, ddof=1).max() if len(b) > 1 else 0.0 for b in bins]
        rows = bins.pop(int(np.argmax(spread)))
        if len(rows) < 2 * minimum:
            final.append(rows)
            continue
        column = probs[rows][:, probs[rows].var(0, ddof=1).argmax()]
        low = [row for row, x in zip(rows, column, strict=True) if x < np.median(column)]
        high = [row for row in rows if row not in set(low)]
        if min(len(low), len(high)) < minimum:
            final.append(rows)
        else:
            bins += [low, high]
    return sorted(final)


@pytest.mark.parametrize(
    ("points", "minimum", "decimals"), [(300, 20, 9), (200, 5, 1), (39, 20, 9)]
)
def test_simplex_bins_agree_with_the_published_rule(points, minimum, decimals):
    probs = np.random.default_rng(1).dirichlet(np.ones(3) / 2, points).round(decimals)
    index = simplex_bins(torch.from_numpy(probs), minimum).numpy()
    found = sorted(np.flatnonzero(index == b).tolist() for b in np.unique(index))
    assert found == _reference_simplex_bins(probs, minimum)


def test_a_bin_of_equal_points_is_never_cut():
    probs = torch.full((100, 2), 0.5, dtype=torch.float64)
    assert simplex_bins(probs, 20).tolist() == [0] * 100


def test_simplex_bins_hold_at_least_the_minimum():
    probs = np.random.default_rng(2).dirichlet(np.ones(10), 10_000)
    sizes = simplex_bins(torch.from_numpy(probs), 20).bincount()
    assert sizes.min() >= 20
    assert sizes.max() < 40
    assert 250 < len(sizes) < 500
