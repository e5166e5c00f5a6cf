"""Sign flips of whole data sets: the specification's vectors, cases by hand, and brute force."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from bnnbench.reports.judge.over_sets.draws import bits, redraws, signs
from bnnbench.reports.judge.over_sets.flips import adjusted
from bnnbench.reports.judge.over_sets.league import SetScores, shares


def brute_force(y):
    """Return adjusted p-values by enumerating every flip of every pair at every step."""
    methods, sets = y.shape

    def statistic(i, j, flip):
        d = y[i] - y[j]
        return (flip * d).sum() / np.sqrt((d**2).sum()) if d.any() else 0.0

    left, found, running = set(range(methods)), np.ones(methods), 0.0
    while len(left) > 1:
        plain = np.ones(sets)
        against = {i: max(statistic(j, i, plain) for j in left if j != i) for i in left}
        first = max(sorted(left), key=lambda i: against[i])
        hits = [
            max(statistic(i, j, np.array(flip)) for i in left for j in left if i != j)
            >= against[first] - 1e-9
            for flip in product((-1, 1), repeat=sets)
        ]
        running = max(running, np.mean(hits))
        found[first] = running
        left.remove(first)
    return found


def test_shares_and_ranks_of_the_specification():
    nan = np.nan
    one = [[1, 1.2, 0.9], [0.5, nan, 0.4], [-3, -2, -9], [0.2, 0.1, 0]]
    two = [[-0.50, -0.51], [-0.52, -0.50], [-0.53, -0.49], [-0.55, -0.54]]
    sets = [
        SetScores("1", np.array(one), np.array([0, 0.1, -0.1])),
        SetScores("2", np.array(two), np.array([-0.52, -0.51])),
    ]
    found = shares(sets, 0.05)
    u = [[1, 0.2], [0, 0.1], [0, 0.1], [0.096774194, 0]]
    assert found.u == pytest.approx(np.array(u), abs=5e-10)
    assert found.ranks == pytest.approx(
        np.array([[1, 1], [0.5, 0.625], [0.25, 0.625], [0.75, 0.25]])
    )


def specified():
    """The specification's matrix of shares: six methods, twelve sets."""
    m, g = np.arange(6)[:, None], np.arange(12)
    return 0.85 - 0.06 * m + 0.12 * np.sin(1 + 2.3 * m + 3.1 * g + 0.7 * m * g)


def test_adjusted_p_values_of_the_specification():
    u = specified()
    ranks = np.apply_along_axis(stats.rankdata, 0, u) / len(u)
    in_u = [1, 0.1796875, 0.01171875, 0.0009765625, 0.0009765625, 0.00048828125]
    in_ranks = [1, 0.11181640625, 0.013671875, 0.00146484375, 0.00146484375, 0.00048828125]
    assert adjusted(u) == pytest.approx(in_u, abs=1e-12)
    assert adjusted(ranks) == pytest.approx(in_ranks, abs=1e-12)


def test_two_methods_on_three_sets_by_hand():
    """d = 1, 2, 3: of the four flips up to a common sign, only the plain one reaches |sum| = 6."""
    y = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    assert adjusted(y) == pytest.approx([1.0, 0.25])


def test_a_difference_that_cancels_is_reached_by_every_flip():
    y = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert adjusted(y).min() == 1.0


@pytest.mark.parametrize("seed", range(6))
def test_brute_force_over_all_flips_agrees(seed):
    rng = np.random.default_rng(seed)
    y = np.round(rng.normal(size=(4, 6)) + 0.8 * np.arange(4)[:, None], seed % 3)
    assert adjusted(y) == pytest.approx(brute_force(y), abs=1e-12)


def test_drawn_flips_are_near_the_enumeration():
    """Fourteen sets are drawn; the exact p-value of one pair is a count over all 2^13 flips."""
    d = np.array([0.9, -0.3, 0.5, 0.2, -0.4, 0.8, 0.1, 0.6, -0.2, 0.7, 0.3, -0.5, 0.4, 0.2])
    flips = np.array(list(product((-1.0, 1.0), repeat=14)))
    exact = np.mean(np.abs(flips @ d) >= d.sum() - 1e-9)
    found = adjusted(np.stack([d, np.zeros(14)]))[1]
    assert abs(found - exact) < 4 * np.sqrt(exact * (1 - exact) / 9999)


def test_near_duplicates_cost_no_more_than_one_pair():
    rng = np.random.default_rng(1)
    y = np.stack([np.full(10, 1.0), rng.uniform(0, 1, 10)])
    alone = adjusted(y)[1]
    many = adjusted(np.vstack([y, np.repeat(y[1:], 5, axis=0)]))
    assert many[1:] == pytest.approx(np.full(6, alone))


def test_signs_are_fair_and_independent():
    drawn, exact = signs(20, 9999)
    assert not exact
    correlation = drawn.T @ drawn / len(drawn)
    assert np.abs(drawn.mean(0)).max() < 5 / np.sqrt(9999)
    assert np.abs(correlation - np.eye(20)).max() < 5 / np.sqrt(9999)


def test_redraws_have_the_moments_of_a_multinomial():
    drawn = redraws(20, 2000)
    assert (drawn.sum(1) == 20).all()
    assert drawn.mean(0) == pytest.approx(np.ones(20), abs=5 * np.sqrt(0.95 / 2000))
    assert drawn.var() == pytest.approx(0.95, abs=0.05)


def test_random_bits_are_uniform():
    counts = np.bincount(bits(7, np.arange(65_536)) >> np.uint32(24), minlength=256)
    assert stats.chisquare(counts).pvalue > 1e-3
