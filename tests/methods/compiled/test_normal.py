"""Normals inside compiled loops: bits, distribution and independence."""

import math

import numpy as np
import pytest
from scipy import stats

from bnnbench.methods.compiled.normal import BLOCK, LANES, fill_normal, initial_state
from tests.methods.problems import stream

COUNT = 4_000_000
MASK = 2**64 - 1


@pytest.fixture(scope="module")
def sample() -> np.ndarray:
    values = np.empty(COUNT)
    fill_normal(initial_state(stream(5)), values)
    return values


def xoshiro(state: list[int]) -> tuple[int, list[int]]:
    """One step of xoshiro256+ in Python's integers, from its published definition."""
    a, b, c, d = state
    out, shifted = (a + d) & MASK, (b << 17) & MASK
    c, d = c ^ a, d ^ b
    b, a = b ^ c, a ^ d
    return out, [a, b, c ^ shifted, ((d << 45) | (d >> 19)) & MASK]


def test_a_block_is_box_and_muller_of_xoshiro_in_every_lane():
    state = initial_state(stream(1))
    lanes = [[int(word) for word in state[:, lane]] for lane in range(LANES)]
    values = np.empty(3 * BLOCK)
    fill_normal(state, values)
    for block in values.reshape(3, 2, LANES):
        for lane in range(LANES):
            first, lanes[lane] = xoshiro(lanes[lane])
            second, lanes[lane] = xoshiro(lanes[lane])
            radius = math.sqrt(-2 * math.log(1 - (first >> 12) / 2**52))
            angle = (second >> 12) / 2**52 * math.pi / 2
            signs = [-1 if second >> bit & 1 else 1 for bit in (11, 10)]
            expected = [radius * math.cos(angle) * signs[0], radius * math.sin(angle) * signs[1]]
            assert block[:, lane] == pytest.approx(expected, abs=1e-9)
    assert [[int(word) for word in state[:, lane]] for lane in range(LANES)] == lanes


@pytest.mark.long
def test_the_sample_is_standard_normal(sample):
    assert stats.kstest(sample, "norm").pvalue > 1e-3
    for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3), (6, 15)):
        error = math.sqrt((stats.norm.moment(2 * power) - moment**2) / COUNT)
        assert abs((sample**power).mean() - moment) < 4 * error


@pytest.mark.parametrize("bound", [3.0, 4.0, 4.75])
def test_tails_are_as_heavy_as_they_should_be(sample, bound):
    expected = COUNT * 2 * stats.norm.sf(bound)
    assert abs((np.abs(sample) > bound).sum() - expected) < 4 * math.sqrt(expected)


@pytest.mark.parametrize("lag", [1, LANES, BLOCK, 2 * BLOCK])
def test_neighbours_in_lanes_pairs_and_time_are_uncorrelated(sample, lag):
    for power in (1, 2):
        values = sample**power - (power == 2)
        correlation = (values[lag:] * values[:-lag]).mean() / values.var()
        assert abs(correlation) < 4 / math.sqrt(COUNT)


def test_states_come_from_the_stream_and_its_equals_only():
    assert (initial_state(stream(1)) == initial_state(stream(1))).all()
    assert not (initial_state(stream(1)) == initial_state(stream(2))).any()
    rng = stream(1)
    assert not (initial_state(rng) == initial_state(rng)).any()
