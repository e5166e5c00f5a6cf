"""Models, and the two programs that compute their densities."""

import json
import math

import numpy as np
import pytest
import torch
from scipy.stats import norm

from bnnbench.commands.truth import main
from bnnbench.datasets.references import calibration
from bnnbench.engine.declare.description import describe
from bnnbench.engine.store.rebuilding import rebuilt
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.networks.architectures import Linear, Sigmoid, Tanh
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.networks.priors import FixedPrecision
from bnnbench.suites.truth.references.calibrating import Simulation
from bnnbench.suites.truth.references.model import FixedNoise, Model
from bnnbench.suites.truth.references.models import RECIPES
from bnnbench.suites.truth.references.prior import function
from bnnbench.suites.truth.references.sampling import kept_run, require_sampler, sample
from tests.suites.truth.references.conftest import MODEL, RECIPE, SOURCE

WEIGHTS = [np.array([[0.5, -1, 0.25], [1.5, 0.75, -0.5]]), np.array([[1, -2, 0.5]])]
X = np.array([[0.3, -0.7]])
SHORT = Hmc(draws=48, thinning=1, warmup=30, chains=8, prior_precision=1.0)


def log_joint(weights, inputs, targets, activation: str, noise_std: float) -> float:
    """Return the log density of targets and of weights under standard normals, in nats."""
    of_targets = norm.logpdf(targets, function(weights, inputs, activation), noise_std)
    return of_targets.sum() + sum(norm.logpdf(matrix).sum() for matrix in weights)


@pytest.mark.parametrize(
    ("activation", "f", "log_density"),
    [
        ("Tanh", 0.982728093628264, -42.33246366679949),
        ("ReLU", 0.6553418012614797, -22.06610803785512),
    ],
)
def test_a_network_worked_out_by_hand(activation, f, log_density):
    assert function(WEIGHTS, X, activation)[0] == pytest.approx(f, abs=1e-14)
    found = log_joint(WEIGHTS, X, np.array([0.2]), activation, 0.1)
    assert found == pytest.approx(log_density, abs=1e-12)


@pytest.mark.parametrize("network", [mlp([3], 1), mlp([4, 3], 1, Tanh())])
def test_traces_agree_with_another_program(network, monkeypatch):
    model = Model(SOURCE, 0, network, FixedPrecision(1.0), FixedNoise(0.3))
    kept = {}
    from bnnbench.suites.truth.references import sampling

    real = sampling.traces_of

    def spied(model, posterior, *rest):
        kept["weights"] = posterior.network.weights(posterior.states)
        return real(model, posterior, *rest)

    monkeypatch.setattr(sampling, "traces_of", spied)
    traces = sample(model, SHORT, seed=0)
    assert traces.f_test.dtype == np.float64
    train, test = model.data.train, model.data.test
    name = "Tanh" if Tanh() in network else "ReLU"
    for draw in (0, 5, 47):
        matrices = matrices_of(kept["weights"][draw], network, train.inputs.shape[1])
        place = divmod(draw, 6)
        f = function(matrices, test.inputs.double().numpy(), name)
        assert np.allclose(traces.f_test[place], f, atol=1e-10)
        inputs, y = train.inputs.double().numpy(), train.targets[:, 0].double().numpy()
        expected = log_joint(matrices, inputs, y, name, 0.3)
        assert traces.log_density[place] == pytest.approx(expected, rel=1e-10)
        squares = sum((m**2).sum() for m in matrices)
        assert traces.sum_of_squares[place] == pytest.approx(squares, rel=1e-10)
        residuals = y - function(matrices, inputs, name)
        assert traces.loss[place] == pytest.approx(residuals @ residuals / 2, rel=1e-10)


def matrices_of(weights: torch.Tensor, network, features: int) -> list[np.ndarray]:
    """Return a plain network's parameters, weight before bias, in the scale of their prior."""
    flat, matrices, width = weights.double().numpy(), [], features
    for outputs in (layer.outputs for layer in network if isinstance(layer, Linear)):
        matrix, bias, flat = np.split(flat, [outputs * width, outputs * (width + 1)])
        stacked = np.hstack([matrix.reshape(outputs, width), bias[:, None]])
        matrices.append(stacked * math.sqrt(width + 1))
        width = outputs
    assert not len(flat)
    return matrices


def test_an_interrupted_make_continues_from_its_runs(tmp_path):
    first = kept_run(MODEL, SHORT, 0, tmp_path)
    (file,) = tmp_path.glob("run-*.npz")
    time = file.stat().st_mtime_ns
    again = kept_run(MODEL, SHORT, 0, tmp_path)
    assert file.stat().st_mtime_ns == time
    assert np.array_equal(first.f_test, again.f_test)
    assert again.divergences == first.divergences
    assert not np.array_equal(kept_run(MODEL, SHORT, 1, tmp_path).f_test, first.f_test)


def test_a_short_run_is_rejected_with_its_reasons_and_leaves_no_reference(tmp_path, capsys):
    recipe = tmp_path / "short.json"
    recipe.write_text(json.dumps(describe(RECIPE) | {"sampler": describe(SHORT_ENOUGH)}))
    folders = ["--folder", str(tmp_path / "to"), "--work", str(tmp_path / "work")]
    assert main(["make", str(recipe), *folders]) == 1
    said = capsys.readouterr().out
    assert "short: rejected:" in said
    assert "ess_bulk of f_test" in said
    assert "sbc: " in said
    assert not (tmp_path / "to" / "references" / "short").exists()
    assert (tmp_path / "work" / "short" / "rejected" / "draws.npz").exists()
    assert main(["list", "--folder", str(tmp_path / "to")]) == 0
    assert "short: rejected:" in capsys.readouterr().out


SHORT_ENOUGH = Hmc(
    draws=1000, thinning=1, warmup=10, chains=8, prior_precision=1.0, leapfrog_steps=2
)


@pytest.mark.parametrize(
    ("sampler", "needed"),
    [
        (Hmc(thinning=1, prior_precision=2.0), "prior_precision"),
        (Hmc(thinning=1), "prior_precision"),
        (Hmc(prior_precision=1.0), "thinning"),
    ],
)
def test_a_sampler_of_another_posterior_is_refused(sampler, needed):
    with pytest.raises(ValueError, match=needed):
        require_sampler(sampler, MODEL)


def test_models_out_of_range_are_refused():
    with pytest.raises(ValueError, match="noise std above 0; got 0"):
        FixedNoise(0.0)
    with pytest.raises(ValueError, match="precision above 0; got -1"):
        FixedPrecision(-1.0)
    with pytest.raises(ValueError, match="layers of units"):
        Model(SOURCE, 0, (), FixedPrecision(), FixedNoise(0.1))
    with pytest.raises(ValueError, match="Sigmoid"):
        Model(SOURCE, 0, mlp([3], 1, Sigmoid()), FixedPrecision(), FixedNoise(0.1))


@pytest.mark.parametrize("name", RECIPES)
def test_a_model_is_rebuilt_from_its_description(name):
    model = RECIPES[name].model
    assert rebuilt(model.description) == model
    require_sampler(RECIPES[name].sampler, model)


@pytest.mark.long
def test_a_sampler_that_is_told_a_wrong_noise_is_caught_by_the_loss():
    sampler = Hmc(
        draws=60, thinning=4, warmup=100, chains=2, leapfrog_steps=100, prior_precision=1.0
    )
    faulty = Simulation(MODEL, sampler, replications=25, told_noise=0.7).run()
    sound = Simulation(MODEL, sampler, replications=25).run()
    bound = calibration.SIGNIFICANCE / len(sound["ranks"])
    assert calibration.uniformity(faulty["ranks"]["loss"], 60) < bound / 1000
    assert any(reason.startswith("loss: p = ") for reason in faulty["failed"])
    found = {name: calibration.uniformity(ranks, 60) for name, ranks in sound["ranks"].items()}
    assert min(found.values()) > bound
