"""Families of functions: their files, their data sets, and their scores."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bnnbench.commands.truth import main
from bnnbench.datasets.base import Gaussian
from bnnbench.datasets.oracles.drawn import Drawn
from bnnbench.datasets.oracles.family import Family, Refused, home, names, read, write
from bnnbench.datasets.stand_ins import DiabetesAsUci
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.metrics.oracle import Law, excess_risk
from bnnbench.suites.probes.oracle import OracleScores
from bnnbench.suites.truth import SUITES
from bnnbench.suites.truth.known.distributions import GaussianTargets, OracleProblem, ProcessLaw
from bnnbench.suites.truth.known.making import Recipe, inputs_as_float64, made
from bnnbench.suites.truth.known.posteriors import of_process
from bnnbench.suites.truth.known.recipes import RECIPES
from bnnbench.suites.truth.known.verifying import verified

NAMES = names(home())

LAW = ProcessLaw(1.5, (2.0,) * 10)
SMALL = Recipe(OracleProblem(DiabetesAsUci(), LAW, GaussianTargets(0.3), count=8))


@pytest.fixture(scope="module")
def family() -> Family:
    return made("small", SMALL)


@pytest.fixture
def source(family, tmp_path) -> Drawn:
    write(family, tmp_path)
    return Drawn(DiabetesAsUci(), "small", str(tmp_path))


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_family_of_this_project_is_sound(name):
    family = read(name, home())
    assert family.name == name
    assert len(family) == 20
    warnings = verified(family, RECIPES[name])
    assert all("data absent" in w or "streams may change" in w for w in warnings)


def test_there_are_three_families_and_their_files_are_small():
    assert {*NAMES} == {*RECIPES}
    assert all((home() / f"{name}.npz").stat().st_size < 400_000 for name in NAMES)


@pytest.mark.parametrize("profile", ["oracles", "oracle_classes"])
def test_a_suites_cases_are_the_families(profile):
    for case in SUITES[profile].cases:
        assert isinstance(case.source, Drawn)
        problem = RECIPES[case.name].problem
        assert case.source.source == problem.source
        if not isinstance(problem.functions, ProcessLaw):
            assert (case.network, case.prior) == (
                problem.functions.architecture,
                problem.functions.prior,
            )


def test_a_written_family_is_read_as_it_was(family, tmp_path):
    write(family, tmp_path)
    again = read("small", tmp_path)
    assert again.stated == family.stated
    for name in ("train_targets", "test_targets", "truth", "mean", "std", "excess_risk"):
        np.testing.assert_array_equal(getattr(again, name), getattr(family, name))


def test_a_fold_has_real_inputs_and_the_targets_of_its_function(family, source):
    real, drawn = DiabetesAsUci().load(0), source.load(3)
    assert torch.equal(drawn.train.inputs, real.train.inputs)
    np.testing.assert_allclose(drawn.train.targets[:, 0], family.train_targets[3], rtol=1e-6)
    np.testing.assert_array_equal(drawn.truth, family.truth[3])
    assert drawn.likelihood == Gaussian(0.3)
    assert (source.name, source.folds, source.origin) == ("small", 8, "generated")


def test_residuals_of_targets_are_the_noise(family):
    residuals = (family.test_targets - family.truth[..., 0]) / 0.3
    assert residuals.mean() == pytest.approx(0, abs=5 / residuals.size**0.5)
    assert residuals.std() == pytest.approx(1, abs=5 / (2 * residuals.size) ** 0.5)


class ExactPosterior:
    """Predicts the Gaussian of the stored posterior."""

    def __init__(self, data):
        self.data = data
        self.diagnostics = {}

    def predict(self, inputs, rng):
        mean = self.data.exact.mean[None]
        variance = (self.data.exact.std**2 + self.data.likelihood.noise_std**2)[None, :, None]
        return GaussianPredictive(mean, variance)


def test_the_probe_gives_the_exact_posterior_its_own_scores(source):
    data = source.load(2)
    measured = OracleScores().measure(ExactPosterior(data), data, torch.Generator())
    own, exact = measured["law"].scores, measured["exact_posterior"].scores
    for name in exact:
        assert own[name] == pytest.approx(exact[name], rel=1e-9)
    assert own["epistemic_rank"] == pytest.approx(1)


def test_data_without_a_law_are_refused():
    data = DiabetesAsUci().load(0)
    with pytest.raises(TypeError, match="needed a known data distribution"):
        OracleScores().measure(ExactPosterior(data), data, torch.Generator())


def test_the_posterior_of_another_law_has_more_risk_on_average(family):
    """A property of Bayes' rule."""
    train, test = inputs_as_float64(DiabetesAsUci().load(0))
    other = ProcessLaw(1.5, (0.8,) * 10)
    risks = []
    for y, truth, std in zip(family.train_targets, family.truth, family.std, strict=True):
        law = Law(torch.from_numpy(truth), 0.3, torch.from_numpy(std))
        prediction = of_process(other, 0.3, train, y, test).prediction
        risks.append(float(excess_risk(prediction, law).mean()))
    assert np.mean(risks) > family.excess_risk.mean() > 0


def test_other_inputs_are_refused(family, tmp_path):
    inputs = {**family.stated["inputs"], "test": "0" * 64}
    write(replace(family, stated={**family.stated, "inputs": inputs}), tmp_path)
    with pytest.raises(Refused, match="test does not match"):
        Drawn(DiabetesAsUci(), "small", str(tmp_path)).load(0)


def test_rows_of_a_law_cannot_be_cut(source):
    with pytest.raises(TypeError, match="cannot be cut or rescaled"):
        source.table(0)


CHAINS = {"r_hat": [1.005] * 8, "ess_bulk": [500.0] * 8, "ess_tail": [450.0] * 8}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stated": {"format": 2}}, "needed format 1"),
        ({"stated": {"posterior": {**CHAINS, "r_hat": [1.005] * 7 + [1.02]}}}, "function 7"),
        ({"stated": {"posterior": {**CHAINS, "ess_tail": [200.0] * 8}}}, "ess_tail above 400"),
        ({"stated": {"posterior": {**CHAINS, "ess_bulk": [500.0]}}}, "one for each of 8"),
        ({"std": 0.0}, "a posterior given noisy targets varies"),
        ({"mean": np.nan}, "not all values are finite"),
        ({"stated": {"classes": 3}}, r"truth: needed shape \(8, 44, 3\)"),
    ],
)
def test_a_family_that_cannot_be_trusted_is_refused(family, tmp_path, change, message):
    name, value = next(iter(change.items()))
    if name == "stated":
        changed = replace(family, stated={**family.stated, **value})
    else:
        array = getattr(family, name).copy()
        array[(0,) * array.ndim] = value
        changed = replace(family, **{name: array})
    with pytest.raises(Refused, match=message):
        write(changed, tmp_path)
    assert not [*tmp_path.iterdir()]


def test_a_damaged_file_is_refused_by_name(family, tmp_path):
    path = write(family, tmp_path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(Refused, match=r"small\.npz: cannot be read"):
        read("small", tmp_path)
    with pytest.raises(Refused, match="families there: small"):
        read("other", tmp_path)


def test_a_posterior_that_is_too_sure_is_refused(family):
    with pytest.raises(Refused, match="should be equal in expectation over functions"):
        verified(replace(family, std=family.std / 3), None)


def test_another_posterior_of_a_process_is_refused(family):
    assert verified(family, SMALL) == []
    with pytest.raises(Refused, match="function 0 has a different posterior"):
        verified(replace(family, mean=family.mean + 1e-3), SMALL)


def test_another_law_is_refused(family):
    other = replace(SMALL.problem, targets=GaussianTargets(0.4))
    with pytest.raises(Refused, match="its distribution differs from the recipe's"):
        verified(family, replace(SMALL, problem=other))


def test_the_command_names_what_is_wrong(family, tmp_path, capsys):
    path = write(family, tmp_path / "oracles")
    assert main(["list", "--folder", str(tmp_path)]) == 0
    assert "small: 8 functions at 398 and 44 rows; posteriors in closed form" in (
        capsys.readouterr().out
    )
    assert main(["verify", "--folder", str(tmp_path)]) == 0
    path.write_bytes(b"nothing")
    assert main(["verify", "--folder", str(tmp_path)]) == 1
    assert "refused: " in capsys.readouterr().out
    assert main(["make", "nothing", "--folder", str(tmp_path)]) == 2
    assert "no recipe 'nothing'" in capsys.readouterr().err
