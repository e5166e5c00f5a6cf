"""The suite of noisy cubics, by its declaration and with everything made small."""

from dataclasses import replace

import pytest

from bnnbench.commands.report import main as report
from bnnbench.datasets.generated.curves import Sine
from bnnbench.engine.declare.names import name_of
from bnnbench.engine.records.record_json import from_json
from bnnbench.methods.base import Method
from bnnbench.methods.ciber.collapse import LastLayer
from bnnbench.methods.ciber.from_draws import CiberOfHmc
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.networks.architectures import LeakyReLU, Linear, ReLU
from bnnbench.suites.toy import SUITES
from bnnbench.suites.toy.cubics import DESCENT
from tests.suites.commands import call


@pytest.mark.parametrize("profile", SUITES)
def test_a_reference_is_one_of_the_methods(profile):
    suite = SUITES[profile]
    if isinstance(suite.reference, str):
        assert isinstance(suite.methods[suite.reference], Method)


def test_cubics_and_depths_have_a_reference():
    assert [bool(SUITES[p].reference) for p in ("quick", "paper", "depth")] == [True] * 3


COMPARED = {
    *("adamw", "sgd", "backprop", "sgd_last_iterate", "marginal", "mc_dropout", "ensemble"),
    *("swa", "swag", "pca_slices", "pca_vi", "ciber", "laplace", "laplace_diagonal"),
    *("mfvi", "dvi", "vsd", "ivon", "graves_vi", "pbp", "message_passing", "moment_propagation"),
    *("hmc", "sgld", "cyclical_sgld"),
}
"""Methods of this project for networks of any depth with known noise, without wrappers, checks of
other methods, and methods of a stated prior."""


@pytest.mark.parametrize("profile", ["depth", "coverage", "coverage_paper"])
def test_methods_for_networks_of_any_depth_meet_the_sines(profile):
    assert {name_of(type(method)) for method in SUITES[profile].methods.values()} >= COMPARED


def test_depths_agree_with_the_paper_on_the_same_rows():
    suite = SUITES["depth"]
    for label in suite.methods:
        for case, layers in zip(suite.cases, range(2, 7), strict=True):
            network = suite.architecture_for(case, label)
            widths = [layer.outputs for layer in network if isinstance(layer, Linear)]
            assert widths == [16] * (layers - 1) + [1]
            between = {type(layer) for layer in network[1::2]}
            assert between == ({ReLU} if label in ("PBP", "BP", "VI", "LA") else {LeakyReLU})
    assert {case.source for case in suite.cases} == {Sine()}


def test_coverage_is_of_a_hundred_networks_in_the_paper_and_fewer_in_the_quick_one():
    assert SUITES["coverage_paper"].seeds == 100
    assert SUITES["coverage"].seeds < 100
    for profile in ("coverage", "coverage_paper"):
        suite = SUITES[profile]
        network = suite.architecture_for(suite.cases[0], "AdamW")
        assert [la.outputs for la in network if isinstance(la, Linear)] == [32, 32, 1]
        assert {entry.table for entry in suite.reproduces} == {"sec 5.1", "App C"}


@pytest.mark.long
def test_the_depths_run_and_stand_side_by_side(tmp_path):
    suite = replace(SUITES["depth"], reference=None)
    flags = ("--datasets", "sine-2,sine-3", "--methods", "Training mean,PBP")
    answer = call(tmp_path, *flags, suite=suite)
    assert answer.code == 0, answer.output + answer.errors
    assert report([str(tmp_path)]) == 0
    assert "Networks on the same rows" in (tmp_path / "toy" / "report.html").read_text()


def test_the_paper_profile_has_as_many_draws_as_the_paper():
    assert SUITES["paper"].methods["HMC vague"].draws == 30_000


def test_boxes_are_around_the_draws_that_stand_beside_them():
    methods = SUITES["gap"].methods
    samplers = {m.sampler for label, m in methods.items() if label.endswith("of 10 draws")}
    assert samplers == {methods["HMC vague 10 draws"]}
    assert methods["HMC vague 10 draws"].draws == 10
    assert methods["HMC vague"].draws == 2000


@pytest.mark.long
def test_every_method_of_the_gap_is_drawn_with_its_distance_to_many_draws(tmp_path):
    few = {"chains": 2, "warmup": 60, "thinning": 2}
    methods = {
        "HMC vague": Hmc(draws=40, **few),
        "CIBER of 10 draws": CiberOfHmc(Hmc(draws=4, **few), LastLayer(1)),
        "SWAG": replace(
            SUITES["gap"].methods["SWAG"],
            training=replace(DESCENT, epochs=60, every=2),
        ),
    }
    suite = replace(SUITES["gap"], methods=methods, seeds=1)
    answer = call(tmp_path, suite=suite)
    assert answer.code == 0, answer.output + answer.errors
    records = [from_json(p.read_text()) for p in tmp_path.glob("toy/runs/*/record.json")]
    distances = {r.method: r.outcome.scores["clean"].get("wasserstein2") for r in records}
    assert distances["HMC vague"] is None
    assert all(distances[m] > 0 for m in ("CIBER of 10 draws", "SWAG"))
    assert report([str(tmp_path)]) == 0
    page = (tmp_path / "toy" / "report.html").read_text()
    assert "Predictions, cubic with a gap" in page
    assert page.count("Dashed lines bound the band of HMC vague") == 1
    assert "<figcaption>CIBER of 10 draws" in page


def test_methods_get_their_distances_in_target_units(tmp_path):
    few = {"draws": 100, "chains": 2, "warmup": 200, "thinning": 2}
    methods = {"HMC vague": Hmc(**few), "PBP": SUITES["quick"].methods["PBP"]}
    suite = replace(SUITES["quick"], methods=methods)
    answer = call(tmp_path, "--datasets", "cubic", suite=suite)
    assert answer.code == 0, answer.output + answer.errors
    records = [from_json(p.read_text()) for p in tmp_path.glob("toy/runs/*/record.json")]
    scores = {record.method: record.outcome.scores["clean"] for record in records}
    assert "wasserstein2" not in scores["HMC vague"]
    # The noise alone is 3; the true function spans 432.
    assert 1 < scores["PBP"]["wasserstein2"] < 100
