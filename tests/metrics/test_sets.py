"""Intervals and sets of a stated level, counted by hand and by brute force."""

import numpy as np
import pytest
import scipy.stats
import torch

from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.sets import IntervalPredictive, SetPredictive
from bnnbench.metrics import METRICS, value

LOW = torch.tensor([[0.0], [1.0], [-2.0], [5.0]])
HIGH = torch.tensor([[1.0], [3.0], [-2.0], [9.0]])
INTERVALS = IntervalPredictive(0.9, LOW, HIGH)
TARGET = torch.tensor([[1.0], [3.5], [-2.0], [4.0]])


def test_coverage_and_width_are_those_counted_by_hand():
    assert METRICS["interval_coverage"].score(INTERVALS, TARGET).tolist() == [1, 0, 1, 0]
    assert METRICS["interval_width"].score(INTERVALS, TARGET).tolist() == [1, 2, 0, 4]


def test_the_score_adds_twenty_times_the_distance_outside_an_interval_of_90_percent():
    expected = [1.0, 2 + 20 * 0.5, 0.0, 4 + 20 * 1.0]
    found = METRICS["interval_score"].score(INTERVALS, TARGET)
    torch.testing.assert_close(found, torch.tensor(expected).double())


def test_the_score_is_the_pinball_loss_of_both_ends_over_half_of_alpha():
    rng = np.random.default_rng(0)
    low, width, target = rng.normal(size=7), rng.random(7), rng.normal(size=7)
    losses = np.zeros(7)
    for end, level in ((low, 0.1), (low + width, 0.9)):
        losses += np.where(target >= end, level * (target - end), (1 - level) * (end - target))
    ends = (torch.from_numpy(end)[:, None] for end in (low, low + width))
    prediction = IntervalPredictive(0.8, *ends)
    found = METRICS["interval_score"].score(prediction, torch.from_numpy(target)[:, None])
    np.testing.assert_allclose(found.numpy(), losses / 0.1, rtol=1e-12)


def test_the_ends_of_a_gaussians_interval_cover_what_they_state():
    low, high = scipy.stats.norm.interval(0.9)
    target = torch.from_numpy(scipy.stats.norm.ppf((np.arange(1000) + 0.5) / 1000))[:, None]
    prediction = IntervalPredictive(0.9, *(torch.full((1000, 1), end) for end in (low, high)))
    for name in ("interval_coverage", "picp_90"):
        assert value(METRICS[name], prediction, target) == pytest.approx(0.9)
    for name in ("interval_width", "mpiw_90"):
        assert value(METRICS[name], prediction, target) == pytest.approx(high - low)


def test_another_level_than_the_stated_one_is_not_answered():
    with pytest.raises(CannotAnswer, match=r"states only intervals of 0.9, not of 0.95"):
        value(METRICS["picp_95"], INTERVALS, TARGET)


def test_intervals_are_rescaled_with_the_target():
    metres = INTERVALS.rescaled(5.0, 2.0)
    torch.testing.assert_close(metres.low, 5 + 2 * LOW.double())
    score = METRICS["interval_score"].score
    torch.testing.assert_close(score(metres, 5 + 2 * TARGET), 2 * score(INTERVALS, TARGET))


def test_coverage_and_size_of_sets_are_those_counted_by_hand():
    members = torch.tensor([[1, 1, 0], [0, 0, 0], [0, 0, 1], [1, 1, 1]]).bool()
    prediction, labels = SetPredictive(0.9, members), torch.tensor([0, 1, 1, 2])
    assert METRICS["set_coverage"].score(prediction, labels).tolist() == [1, 0, 0, 1]
    assert METRICS["set_size"].score(prediction, labels).tolist() == [2, 0, 1, 3]


def test_sets_of_smallest_mass_cover_as_often_as_draws_of_their_labels_say():
    rng = np.random.default_rng(0)
    probs = np.array([0.5, 0.3, 0.15, 0.05])
    members = torch.tensor([True, True, True, False]).expand(20_000, 4)
    labels = torch.from_numpy(rng.choice(4, 20_000, p=probs))
    coverage = value(METRICS["set_coverage"], SetPredictive(0.9, members), labels)
    assert coverage == pytest.approx(0.95, abs=5 * np.sqrt(0.95 * 0.05 / 20_000))


def test_what_is_no_interval_or_set_is_refused():
    with pytest.raises(ValueError, match=r"level between 0 and 1, such as 0.9; got 90"):
        IntervalPredictive(90.0, LOW, HIGH)
    with pytest.raises(ValueError, match=r"got point 0, output 0: 1 to 0"):
        IntervalPredictive(0.9, HIGH, LOW)
