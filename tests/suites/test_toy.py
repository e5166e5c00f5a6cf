"""The suite of noisy cubics, by its declaration and with everything made small."""

from dataclasses import replace

import pytest

from methods.base import Method
from methods.hmc.method import Hmc
from suites.engine.record import from_json
from suites.toy import SUITES
from tests.suites.test_cli import call


@pytest.mark.parametrize("profile", SUITES)
def test_its_reference_is_one_of_its_methods(profile):
    suite = SUITES[profile]
    assert isinstance(suite.methods[suite.reference], Method)


def test_the_paper_profile_has_as_many_draws_as_the_paper():
    assert SUITES["paper"].methods["HMC vague"].draws == 30_000


def test_methods_get_their_distances_in_target_units(tmp_path):
    few = {"draws": 100, "chains": 2, "warmup": 200, "thinning": 2}
    methods = {"HMC vague": Hmc(**few), "PBP": SUITES["quick"].methods["PBP"]}
    suite = replace(SUITES["quick"], methods=methods)
    answer = call(tmp_path, "--datasets", "cubic", suite=suite)
    assert answer.code == 0, answer.output + answer.errors
    records = [from_json(p.read_text()) for p in tmp_path.glob("toy/runs/*/record.json")]
    scores = {record.method: record.scores["clean"] for record in records}
    assert "wasserstein2" not in scores["HMC vague"]
    # The noise alone is 3; the true function spans 432.
    assert 1 < scores["PBP"]["wasserstein2"] < 100
