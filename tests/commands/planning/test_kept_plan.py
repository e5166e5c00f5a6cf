"""Plans that commands keep, so that an equal command continues with them."""

import json
from dataclasses import replace

import pytest

from bnnbench.commands.planning.cuts import Cut, Fixed
from bnnbench.commands.planning.kept_plan import KeptPlan, keep, place, plan_in
from bnnbench.commands.planning.pilot import Pilot, Rates
from bnnbench.datasets.base import Gaussian
from tests.commands.planning.test_cuts import SUITE

LIKELIHOOD = Gaussian(None)
PLAN = KeptPlan(Cut(8, None, ("MFVI",)), Pilot({"AdamW": Rates((1e-6, 2.0, 0.0), 5.0)}, LIKELIHOOD))


def test_a_plan_is_read_as_it_was_kept(tmp_path):
    path = place(tmp_path, SUITE, 3.0, Fixed())
    assert plan_in(path, LIKELIHOOD) is None
    keep(path, PLAN)
    assert plan_in(path, LIKELIHOOD) == PLAN


@pytest.mark.parametrize(
    "spoil",
    [
        lambda plan: plan["cut"].update(trials="8"),
        lambda plan: plan["cut"].update(left_out="AdamW"),
        lambda plan: plan["rates"].update(AdamW=[]),
        lambda plan: plan["rates"]["AdamW"].update(seconds="abc"),
        lambda plan: plan.pop("rates"),
    ],
)
def test_what_is_no_plan_is_an_error(tmp_path, spoil):
    path = place(tmp_path, SUITE, 3.0, Fixed())
    keep(path, PLAN)
    plan = json.loads(path.read_text())
    spoil(plan)
    path.write_text(json.dumps(plan))
    with pytest.raises(ValueError, match="not a plan"):
        plan_in(path, LIKELIHOOD)
    path.write_text("{")
    with pytest.raises(ValueError, match="Expecting property name"):
        plan_in(path, LIKELIHOOD)


def test_other_limits_methods_and_splits_have_other_plans(tmp_path):
    asked = [
        (SUITE, 3.0, Fixed()),
        (SUITE, None, Fixed()),
        (SUITE, 3.0, Fixed(methods=True)),
        (replace(SUITE, folds=4), 3.0, Fixed()),
        (Cut(left_out=("IVON",)).of(SUITE), 3.0, Fixed()),
    ]
    assert len({place(tmp_path, *each) for each in asked}) == len(asked)
    assert place(tmp_path, replace(SUITE, title="another"), 3.0, Fixed()) == place(
        tmp_path, *asked[0]
    )
