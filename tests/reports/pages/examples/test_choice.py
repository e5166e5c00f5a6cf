"""The choice of examples, compared with loops over all of them."""

import itertools

import numpy as np
import pytest

from bnnbench.reports.pages.examples.choice import (
    BINS,
    MOST_DIFFERENT,
    MOST_WORST,
    axis,
    bins,
    cells,
    compared,
    foremost,
    total_variation,
)
from bnnbench.reports.pages.examples.predicted import Predicted

ROWS = 200


def classified(rng, rows=ROWS):
    """Return predictions of four classes, with some equal ones among them."""
    answers = np.round(rng.dirichlet(np.ones(4), rows), 1)
    answers[:, 0] += 1 - answers.sum(1)
    scores = np.round(np.log(rng.random(rows)), 1)
    return answers, scores


def pair_of(rng, rows=ROWS):
    targets = rng.integers(4, size=rows)
    return [Predicted("classes", (0,), targets, *classified(rng, rows)) for _ in range(2)]


def apart(i):
    return i


def test_total_variation_is_the_largest_difference_on_any_set_of_classes():
    first, second = np.random.default_rng(0).dirichlet(np.ones(4), (2, 50))
    events = [list(e) for k in range(5) for e in itertools.combinations(range(4), k)]
    expected = [max(abs(p[e].sum() - q[e].sum()) for e in events)
                for p, q in zip(first, second, strict=True)]  # fmt: skip
    np.testing.assert_allclose(total_variation(first, second), expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_examples_are_those_that_a_sort_of_all_of_them_begins_with(seed):
    first, second = pair_of(np.random.default_rng(seed))
    found = compared(first, second, apart)
    distance = [sum(abs(p - q) for p, q in zip(a, b, strict=True)) / 2
                for a, b in zip(first.answers, second.answers, strict=True)]  # fmt: skip
    np.testing.assert_allclose(found.distances, distance, atol=1e-12)
    order = sorted(range(ROWS), key=lambda i: (-found.distances[i], i))
    assert list(found.different) == order[:MOST_DIFFERENT]
    for one, worst in zip((first, second), found.worst, strict=True):
        assert list(worst) == sorted(range(ROWS), key=lambda i: (one.scores[i], i))[:MOST_WORST]


def test_counts_agree_with_a_loop():
    first, second = pair_of(np.random.default_rng(7))
    expected, parted = {}, 0
    for p, q, target in zip(first.answers, second.answers, first.targets, strict=True):
        tops = [max(range(4), key=lambda k, a=a: (a[k], -k)) for a in (p, q)]
        right = tuple(bool(top == target) for top in tops)
        expected[right] = expected.get(right, 0) + 1
        parted += tops[0] != tops[1]
    found = compared(first, second, apart)
    kinds = [(True, True), (True, False), (False, True), (False, False)]
    assert found.counts == tuple(expected[kind] for kind in kinds)
    assert found.parted == parted
    assert found.means == (first.scores.mean(), second.scores.mean())


def test_of_reals_the_distance_is_the_difference_of_log_scores():
    rng = np.random.default_rng(1)
    scores = [np.round(rng.standard_normal(50), 1) for _ in range(2)]
    scores[1][:3] = scores[0][:3] = -np.inf
    scores[1][3] = -np.inf
    one, other = (Predicted("reals", (0,), np.zeros(50), np.ones((50, 2)), s) for s in scores)
    found = compared(one, other, apart)
    gaps = [0.0 if a == b else a - b for a, b in zip(*scores, strict=True)]
    assert found.different[0] == 3
    order = sorted(range(50), key=lambda i: (-abs(gaps[i]), i))
    assert list(found.different) == order[:MOST_DIFFERENT]
    signs = [sum(g == 0 for g in gaps), sum(g > 0 for g in gaps), sum(g < 0 for g in gaps), 0]
    assert list(found.counts) == signs


def test_equal_predictions_differ_nowhere():
    first, _ = pair_of(np.random.default_rng(2))
    assert compared(first, first, apart).different == ()


def test_what_looks_the_same_is_listed_once_where_it_is_most_extreme():
    values = np.array([1.0, 5.0, 5.0, 3.0, 4.0])
    looks = "a", "b", "c", "c", "b"
    assert foremost(values, 3, lambda i: looks[i]) == [1, 2, 0]


def test_cells_count_every_example_once_and_keep_its_side():
    rng = np.random.default_rng(5)
    one, other = -rng.exponential(size=(2, 300))
    other[0] = -np.inf
    ends = axis([one, other])
    found = cells(bins(one, ends), bins(other, ends))
    assert sum(count for _, count in found) == 300
    columns = np.zeros(BINS, int)
    for number, count in found:
        columns[number % BINS] += count
    low, high = ends
    edges = np.linspace(low, high, BINS + 1)
    expected = np.histogram(np.clip(one, low, high), edges)[0]
    np.testing.assert_array_equal(columns, expected)
    assert sum(count for number, count in found if number // BINS == 0) >= (other <= low).sum() > 0
