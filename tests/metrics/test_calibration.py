import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some

from bnnbench.metrics.calibration import (
    adaptive_calibration_error,
    classwise_calibration_error,
    expected_calibration_error,
    maximum_calibration_error,
    minimum_variance_calibration_error,
    reliability_curve,
    simplex_calibration_error,
)
from tests.metrics.examples import categorical, certain, random_prediction


def _labels(*values: int) -> torch.Tensor:
    return torch.tensor(values)


def test_a_confidence_at_an_edge_belongs_to_the_bin_below_it():
    curve = reliability_curve(certain([0.5, 0.75, 0.75, 1.0]), _labels(0, 0, 1, 0), 4)
    assert curve.count.tolist() == [0, 1, 2, 1]
    assert curve.accuracy[1:].tolist() == [1, 0.5, 1]


def test_confidence_1_is_in_the_last_bin_and_probability_0_in_the_first():
    prediction, labels = certain([1.0, 1.0]), _labels(0, 0)
    assert reliability_curve(prediction, labels, 15).count.tolist() == [0] * 14 + [2]
    assert expected_calibration_error(prediction, labels).item() == 0
    # Each class is a binary problem: probabilities 1 and 0, both right.
    assert classwise_calibration_error(prediction, labels).item() == 0


@pytest.mark.parametrize("bins", [5, 10, 15, 20])
def test_multiples_of_the_width_are_upper_edges_whatever_their_rounding(bins):
    from bnnbench.metrics.calibration import _equal_width

    edges = torch.tensor([i / bins for i in range(bins + 1)], dtype=torch.float64)
    assert _equal_width(edges, bins).tolist() == [0, *range(bins)]
    above = torch.nextafter(edges[:-1], torch.tensor(2.0, dtype=torch.float64))
    assert _equal_width(above, bins).tolist() == list(range(bins))


def test_empty_bins_have_nan_and_count_for_nothing():
    curve = reliability_curve(certain([0.9, 0.8]), _labels(0, 1), 10)
    assert curve.count.tolist() == [0] * 7 + [1, 1, 0]
    assert curve.accuracy.isnan().tolist() == (curve.count == 0).tolist()
    assert curve.confidence.isnan().tolist() == (curve.count == 0).tolist()
    assert curve.mean_gap.item() == pytest.approx((0.1 + 0.8) / 2)
    assert curve.gap.max().item() == pytest.approx(0.8)


def test_a_frequency_equal_to_its_confidence_is_no_error():
    prediction, labels = certain([0.75] * 4), _labels(0, 1, 0, 0)
    for error in (
        expected_calibration_error,
        maximum_calibration_error,
        minimum_variance_calibration_error,
        classwise_calibration_error,
    ):
        assert error(prediction, labels).item() == pytest.approx(0, abs=1e-15)


@settings(max_examples=60)
@given(some.integers(0, 2**31), some.integers(1, 40), some.integers(1, 6), some.integers(1, 20))
def test_errors_equal_their_definition_in_plain_loops(seed, points, classes, bins):
    rng = torch.Generator().manual_seed(seed)
    prediction = random_prediction(rng, points, classes, draws=2)
    labels = torch.randint(classes, (points,), generator=rng)
    probs = prediction.log_probs.exp().mean(0).tolist()

    def gaps(pairs):
        for b in range(bins):
            inside = [(c, h) for c, h in pairs if b / bins < c <= (b + 1) / bins]
            if inside:
                confidence, hits = map(sum, zip(*inside, strict=True))
                yield len(inside) / points, abs(hits - confidence) / len(inside)

    hit = zip(probs, labels.tolist(), strict=True)
    top = [(max(row), row.index(max(row)) == y) for row, y in hit]
    expected = sum(weight * gap for weight, gap in gaps(top))
    assert expected_calibration_error(prediction, labels, bins).item() == pytest.approx(expected)
    assert maximum_calibration_error(prediction, labels, bins).item() == pytest.approx(
        max(gap for _, gap in gaps(top))
    )
    classwise = [
        sum(
            w * gap
            for w, gap in gaps(
                [(row[k], y == k) for row, y in zip(probs, labels.tolist(), strict=True)]
            )
        )
        for k in range(classes)
    ]
    assert classwise_calibration_error(prediction, labels, bins).item() == pytest.approx(
        sum(classwise) / classes
    )
    parts = np.array_split(np.array(sorted(top)), bins)
    adaptive = sum(abs(np.subtract(*part.mean(0))) * len(part) for part in parts if len(part))
    assert adaptive_calibration_error(prediction, labels, bins).item() == pytest.approx(
        adaptive / points
    )


def test_equal_confidences_keep_their_order_in_bins_of_equal_mass():
    prediction, labels = certain([0.6] * 4), _labels(0, 0, 1, 1)
    assert adaptive_calibration_error(prediction, labels, 2).item() == pytest.approx(0.5)


def test_more_bins_than_points_leave_bins_of_single_points():
    prediction, labels = certain([0.6, 0.9]), _labels(0, 1)
    single = pytest.approx((0.4 + 0.9) / 2)
    assert adaptive_calibration_error(prediction, labels, 15).item() == single
    assert minimum_variance_calibration_error(prediction, labels, 20).item() == single


def test_the_simplex_error_of_one_bin_is_a_squared_distance_of_vectors():
    probs = torch.tensor([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2]])
    expected = (0.6 - 0.5) ** 2 + (0.25 - 0.5) ** 2 + 0.15**2
    error = simplex_calibration_error(categorical(probs), _labels(0, 1))
    assert error.item() == pytest.approx(expected, rel=1e-6)


def test_calibration_errors_vanish_as_points_grow_where_labels_follow_the_prediction():
    rng = torch.Generator().manual_seed(0)
    prediction = random_prediction(rng, 100_000, 4)
    labels = torch.multinomial(prediction.log_probs[0].exp(), 1, generator=rng).squeeze(1)
    for error in (
        expected_calibration_error,
        adaptive_calibration_error,
        minimum_variance_calibration_error,
        classwise_calibration_error,
    ):
        # A bin of n points has a gap of about sqrt(p(1 - p)/n).
        assert error(prediction, labels).item() < math.sqrt(0.25 * 20 / 100_000)
    # Expected value over bins of about 30 points: the sum of variances / 30.
    variance = (prediction.log_probs[0].exp() * -torch.expm1(prediction.log_probs[0])).sum(1).mean()
    simplex = simplex_calibration_error(prediction, labels).item()
    assert variance / 40 < simplex < variance / 20


@pytest.mark.parametrize(
    "error",
    [
        expected_calibration_error,
        adaptive_calibration_error,
        minimum_variance_calibration_error,
        classwise_calibration_error,
        simplex_calibration_error,
    ],
)
def test_a_prediction_of_nan_has_no_calibration(error):
    prediction = categorical(torch.tensor([[0.5, 0.5], [math.nan, math.nan]]))
    assert error(prediction, _labels(0, 1)).isnan()
