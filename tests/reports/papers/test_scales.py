"""The check of the scale of printed errors."""

import pytest

from bnnbench.reports.papers.published import table
from bnnbench.reports.papers.scales import Sizes


@pytest.mark.parametrize(
    ("std", "pairs", "in_units"),
    [
        (40.0, [(2.0, 2.1), (3.0, 2.8)], True),  # 0.05 in deviations
        (40.0, [(0.05, 2.1), (0.07, 2.8)], False),
        (0.25, [(0.09, 0.088)], True),
        (1.02, [(0.11, 0.12)], True),  # the scales are one
        (1.02, [(0.9, 0.12)], False),  # neither scale
        (40.0, [(9.0, 2.0), (9.0, 2.2)], False),
        (0.5, [(0.3, 0.22)], True),
        (0.5, [(0.4, 0.22)], False),  # 1.8 times ours, and 0.9 times ours in deviations
    ],
)
def test_errors_are_in_units_if_ours_are_near_on_that_scale_alone(std, pairs, in_units):
    assert Sizes(std, pairs).holds == in_units


def test_ratios_are_geometric_means():
    sizes = Sizes(3.0, [(2.0, 1.0), (1.0, 8.0)])
    assert sizes.in_units == pytest.approx(0.5)
    assert sizes.in_deviations == pytest.approx(1.5)


def test_errors_of_a_known_scale_are_compared_unless_the_cell_is_doubtful():
    for printed in table("002", "6"):
        assert printed.doubtful == ("UNCERTAIN" in printed.note)
