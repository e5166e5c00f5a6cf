"""Plans that commands keep, so that an equal command continues with them."""

import json
from dataclasses import replace

import pytest

from bnnbench.commands.planning.cuts import Cut, Fixed
from bnnbench.commands.planning.kept_plan import KeptPlan, keep, place, plan_in
from bnnbench.commands.planning.pace import Pace
from bnnbench.commands.planning.pilot import Pilot, Rates
from bnnbench.datasets.base import Gaussian
from tests.commands.planning.test_cuts import SUITE

LIKELIHOOD = Gaussian(None)
PACE = Pace(90, 100, 2, 3.0)
PLAN = KeptPlan(Cut(8, None, ("MFVI",)), Pilot({"AdamW": Rates((1e-6, 2.0, 0.0), 5.0)}, LIKELIHOOD))


def test_a_plan_is_read_as_it_was_kept(tmp_path):
    path = place(tmp_path, SUITE, PACE, Fixed(), "cpu")
    assert plan_in(path, lambda: pytest.fail("the data are not needed")) is None
    keep(path, PLAN)
    assert plan_in(path, lambda: LIKELIHOOD) == PLAN


@pytest.mark.parametrize(
    "spoil",
    [
        lambda plan: plan["cut"].update(trials="8"),
        lambda plan: plan["cut"].update(left_out="AdamW"),
        lambda plan: plan["rates"].update(AdamW=[]),
        lambda plan: plan["rates"]["AdamW"].update(seconds="abc"),
        lambda plan: plan.pop("rates"),
        lambda plan: plan["rates"]["AdamW"].update(seconds=[1.0]),
        lambda plan: plan["rates"]["AdamW"].update(seconds=[1.0, -2.0, 0.0]),
        lambda plan: plan["rates"]["AdamW"].update(seconds=[1.0, float("inf"), 0.0]),
        lambda plan: plan["rates"]["AdamW"].update(bytes=float("nan")),
        lambda plan: plan["cut"].update(trials=-3),
        lambda plan: plan["cut"].update(trials=0),
        lambda plan: plan["cut"].update(splits=-1),
    ],
)
def test_what_is_no_plan_is_an_error(tmp_path, spoil):
    path = place(tmp_path, SUITE, PACE, Fixed(), "cpu")
    keep(path, PLAN)
    plan = json.loads(path.read_text())
    spoil(plan)
    path.write_text(json.dumps(plan))
    with pytest.raises(ValueError, match="not a plan"):
        plan_in(path, lambda: LIKELIHOOD)
    path.write_text("{")
    with pytest.raises(ValueError, match="Expecting property name"):
        plan_in(path, lambda: LIKELIHOOD)


def test_other_limits_methods_splits_devices_and_workers_have_other_plans(tmp_path):
    asked = [
        (SUITE, PACE, Fixed(), "cpu"),
        (SUITE, replace(PACE, minutes=None), Fixed(), "cpu"),
        (SUITE, PACE, Fixed(methods=True), "cpu"),
        (replace(SUITE, folds=4), PACE, Fixed(), "cpu"),
        (Cut(left_out=("IVON",)).of(SUITE), PACE, Fixed(), "cpu"),
        (SUITE, PACE, Fixed(), "cuda"),
        (SUITE, replace(PACE, workers=1), Fixed(), "cpu"),
    ]
    assert len({place(tmp_path, *each) for each in asked}) == len(asked)
    assert place(tmp_path, replace(SUITE, title="another"), PACE, Fixed(), "cpu") == place(
        tmp_path, *asked[0]
    )
