"""How often tables make false claims, and their power; `simulate` repeats it in full."""

import dataclasses

import pytest

from tests.reports.judge.simulate import (
    IMAGES,
    SETTINGS,
    SPREADS,
    crossed_rates,
    means_of,
    rates,
)

pytestmark = pytest.mark.long


FIFTEEN = dataclasses.replace(SETTINGS[0], repetitions=1000)


def test_one_wild_method_takes_no_power_from_the_others():
    _, power = rates(FIFTEEN, SPREADS["one wild"], means_of(FIFTEEN)["gap"])
    assert power >= 0.70


@pytest.mark.parametrize(("spread", "most"), [("one wild", 0.08), ("equal", 0.04)])
@pytest.mark.parametrize("case", ["all", "half"])
def test_a_best_method_is_rarely_called_worse(spread, most, case):
    false, _ = rates(FIFTEEN, SPREADS[spread], means_of(FIFTEEN)[case])
    assert false <= most


def test_points_alone_make_claims_about_methods_and_both_factors_do_not():
    (_, _), (networks, _), (both, power) = crossed_rates(IMAGES["as measured"], 40)
    assert networks > 0.1
    assert both <= 0.08
    assert power >= 0.5
