"""Methods that aim at the posterior under a problem's prior, compared with the exact one."""

from dataclasses import replace

import pytest
import torch

from bnnbench.methods import METHODS, method_type
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import Unsupported, prior_use
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.laplace.structures import Diagonal, Full, Subnetwork
from bnnbench.methods.map_estimate import MapEstimate
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.mile.companion import HeteroscedasticHmc
from bnnbench.methods.mile.method import Mile
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.networks.priors import FixedPrecision
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.pbp.method import Pbp
from bnnbench.methods.trajectory.cyclical_sgld import CyclicalSgld
from bnnbench.methods.trajectory.sgld import Sgld
from bnnbench.methods.tuning.method import Tuned
from tests.contracts.test_every_method import MISSING
from tests.methods.laplace.explicit import gauss_newton, jacobian
from tests.methods.problems import design, exact_posterior, regression, stream

PRIOR = FixedPrecision(30.0)
AIMING = {
    "hmc": Hmc(draws=4000, thinning=1, warmup=300),
    "pbp": Pbp(epochs=40),
    "mfvi": Mfvi(learning_rate=1e-2, initial_std=0.05, epochs=2000, batch_size=60, draws=4000),
    "sgld": Sgld(learning_rate=0.02, epochs=6000, batch_size=60, draws=4000),
    "cyclical_sgld": CyclicalSgld(
        learning_rate=0.02, epochs=6000, batch_size=60, draws_per_cycle=1000, explore=0.1
    ),
    "map_estimate": MapEstimate(learning_rate=0.05, epochs=600),
    "hmc_heteroscedastic": HeteroscedasticHmc(draws=1200, thinning=1, warmup=150, epochs=5),
    "mile": Mile(
        draws=3200, thinning=1, warmup=300, energy_variance=(5e-4, 5e-4), epochs=20, patience=2
    ),
}
POINTS = ("map_estimate",)
"""Methods with the exact posterior's mode, but without its variance."""

OF_ONE_HIDDEN_LAYER = {"ep"}
"""Methods that fit no linear network; `tests/methods/ep` compares them with exact posteriors."""


def exact(linear):
    """Return the posterior's means and variances at the training rows, without noise."""
    mean, precision = exact_posterior(linear, 0.5, prior_precision=PRIOR.precision * 5)
    rows = design(linear)
    return rows @ mean, (rows * torch.linalg.solve(precision, rows.T).T).sum(1)


@pytest.mark.parametrize("name", POINTS)
def test_a_mode_agrees_with_the_prior(linear, name):
    problem = replace(linear, prior=PRIOR)
    predicted = AIMING[name].fit(problem, stream(0)).predict(linear.train.inputs, stream(1))
    torch.testing.assert_close(predicted.mean[:, 0], exact(linear)[0], atol=1e-4, rtol=0)
    torch.testing.assert_close(predicted.variance[:, 0], torch.full((60,), 0.25).double())


@pytest.mark.parametrize("structure", [Full(), Subnetwork(5)], ids=repr)
def test_laplace_given_the_prior_has_a_linear_networks_posterior(linear, structure):
    problem = replace(linear, prior=PRIOR)
    method = Laplace(AIMING["map_estimate"], structure, prior="given")
    predicted = method.fit(problem, stream(0)).predict(linear.train.inputs, stream(1))
    mean, variance = exact(linear)
    torch.testing.assert_close(predicted.mean[:, 0], mean, atol=1e-4, rtol=0)
    torch.testing.assert_close(predicted.variance[:, 0] - 0.25, variance, atol=1e-5, rtol=1e-3)


def test_laplace_of_a_deep_network_has_the_priors_precision_of_each_layer():
    """Compared with (H / noise² + P)⁻¹, by automatic differentiation."""
    given = regression(rows=30, noise_std=0.4, architecture=mlp([6], 1), dtype=torch.float64)
    problem = replace(given, prior=FixedPrecision(2.0))
    inputs = problem.train.inputs
    mode = MapEstimate(epochs=50).fit(problem, stream(0))
    slopes, stds = jacobian(mode, inputs)[:, 0], problem.prior_stds
    precision = gauss_newton(mode, inputs) / 0.16 + stds.double().pow(-2).diag()
    for structure, inverse in (
        (Full(), torch.linalg.inv(precision)),
        (Diagonal(), precision.diagonal().reciprocal().diag()),
    ):
        posterior = Laplace(MapEstimate(epochs=50), structure, prior="given").fit(
            problem, stream(0)
        )
        found = posterior.predict(inputs, stream(1)).variance[:, 0] - 0.16
        torch.testing.assert_close(found, ((slopes @ inverse) * slopes).sum(1))
        drawn = replace(
            Laplace(MapEstimate(epochs=50), structure, prior="given"), prediction="mc", draws=20000
        ).fit(problem, stream(0))
        spread = drawn.weights.var(0) / inverse.diagonal()
        assert (spread - 1).abs().max() < 6 * (2 / 20000) ** 0.5


def test_kfac_has_no_prior_of_each_weight(linear):
    with pytest.raises(Unsupported, match="Full, Subnetwork and Diagonal"):
        Laplace(AdamW(epochs=1), prior="given").fit(replace(linear, prior=PRIOR), stream(0))


def test_laplace_without_a_stated_prior_takes_its_own(linear):
    own, given = (
        Laplace(AdamW(epochs=3), Full(), (7.0,), prior=prior).fit(linear, stream(0))
        for prior in ("own", "given")
    )
    assert own.diagnostics == given.diagnostics


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name.endswith("sgld") else ())
        for name in AIMING
        if name not in ("pbp", *POINTS)
    ],
)
def test_a_method_that_takes_the_prior_has_its_posterior(linear, name):
    problem = replace(linear, prior=PRIOR)
    mean, precision = exact_posterior(linear, 0.5, prior_precision=PRIOR.precision * 5)
    rows = design(linear)
    predicted = AIMING[name].fit(problem, stream(0)).predict(linear.train.inputs, stream(1))
    exact = rows @ mean
    variance = (rows * torch.linalg.solve(precision, rows.T).T).sum(1)
    other, _ = exact_posterior(linear, 0.5, prior_precision=5)
    moved = (exact - rows @ other).abs().max()
    assert (predicted.mean[:, 0] - exact).abs().max() < 0.1 * moved
    if name == "mfvi":  # has the exact means, and the variances of the diagonal of the precision
        variance = (rows.square() / precision.diagonal()).sum(1)
    found = predicted.variance[:, 0] - 0.25
    # Without the prior the variances would be 1.6 times as large: 0.47.
    assert (found / variance).log().abs().mean() < 0.2


def test_pbp_knows_the_precision_to_a_thousandth(linear):
    """Several passes over the rows make PBP overconfident about the weights, under any prior."""
    diagnostics = AIMING["pbp"].fit(replace(linear, prior=PRIOR), stream(0)).diagnostics
    shape, rate = diagnostics["prior_shape"], diagnostics["prior_rate"]
    assert shape / rate == pytest.approx(PRIOR.precision, rel=1e-3)
    assert shape**-0.5 < 2e-3


@pytest.mark.parametrize("name", AIMING)
def test_a_prior_changes_the_fit_of_every_such_method(linear, name):
    chains = hasattr(AIMING[name], "warmup")
    short = {"draws": 8, "warmup": 5} if chains else {"epochs": 3}
    method = replace(AIMING[name], **short)
    without, given = (
        method.fit(replace(linear, prior=prior), stream(0)).predict(linear.train.inputs, stream(1))
        for prior in (None, PRIOR)
    )
    assert not torch.equal(without.mean, given.mean)


def test_stds_are_in_the_order_of_a_networks_parameters():
    network = mlp([3], 1)
    stds = FixedPrecision(4.0).stds(network, (2,))
    by_name = {part.name + str(part.offset): stds[part.offset : part.stop] for part in
               TorchNetwork(network, (2,)).parameters}  # fmt: skip
    expected = [0.5 / 3**0.5] * 9 + [0.5 / 4**0.5] * 4
    assert torch.allclose(torch.cat(list(by_name.values())), torch.tensor(expected).double())


@pytest.mark.parametrize("name", [name for name in METHODS if name not in MISSING])
def test_every_method_says_what_it_does_with_a_prior(name):
    assert prior_use(method_type(METHODS[name])()) in ("given", "own", "none")


def test_those_that_take_the_prior_are_those_that_say_so():
    made = {n: method_type(path)() for n, path in METHODS.items() if n not in MISSING}
    given = {n for n, method in made.items() if prior_use(method) == "given"}
    assert given == AIMING.keys() | OF_ONE_HIDDEN_LAYER


@pytest.mark.parametrize(
    "cold", [Mfvi(kl_weight=0.1), Sgld(temperature=0.1), Laplace(prior="given", temperature=0.5)]
)
def test_a_cold_posterior_is_another(cold):
    assert prior_use(cold) == "own"


def test_a_tuned_method_says_what_its_method_says():
    assert prior_use(Tuned(Mfvi())) == "given"
    assert prior_use(Tuned()) == "none"


def test_an_ensemble_says_what_its_members_say():
    assert prior_use(Ensemble(member=MapEstimate())) == "given"
    assert prior_use(Ensemble()) == "none"
