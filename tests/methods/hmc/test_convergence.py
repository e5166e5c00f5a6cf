"""Convergence diagnostics, compared with arviz and processes of known autocorrelation."""

import warnings

import numpy as np
import pytest

from bnnbench.methods.hmc.convergence import effective_sample_size, ess_bulk, ess_tail, split_r_hat


@pytest.fixture(scope="module")
def arviz(tmp_path_factory):
    """arviz; its import renames a file in the user's cache, which fails during another import."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(action="ignore"):
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        import arviz
    return arviz


def autoregressive(correlation, chains, draws, quantities=1, seed=0):
    """Return stationary chains x' = r x + noise with variance 1."""
    noise = np.random.default_rng(seed).standard_normal((chains, draws, quantities))
    states = noise.copy()
    for t in range(1, draws):
        scale = (1 - correlation**2) ** 0.5
        states[:, t] = correlation * states[:, t - 1] + scale * noise[:, t]
    return states


@pytest.mark.parametrize("draws", [4, 5, 6, 7, 51, 400])
@pytest.mark.parametrize("kind", ["independent", "slow", "swinging", "apart", "tied", "heavy"])
def test_all_diagnostics_agree_with_arviz(arviz, kind, draws):
    correlation = {"slow": 0.95, "swinging": -0.8}.get(kind, 0.0)
    values = autoregressive(correlation, 4, draws, quantities=3)
    if kind == "apart":
        values += np.arange(4)[:, None, None]
    if kind == "tied":
        values = values.round()
    if kind == "heavy":
        values = np.tan(values)
    found = split_r_hat(values), ess_bulk(values), ess_tail(values)
    for quantity in range(3):
        own = values[:, :, quantity]
        expected = [arviz.rhat(own, method="rank")]
        expected += [arviz.ess(own, method=method) for method in ("bulk", "tail")]
        assert [value[quantity] for value in found] == pytest.approx(expected, rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, -0.5])
def test_an_autoregressive_process_has_the_effective_size_of_its_closed_form(correlation):
    values = autoregressive(correlation, chains=4, draws=20_000, quantities=8)
    expected = 80_000 * (1 - correlation) / (1 + correlation)
    assert ess_bulk(values).mean() == pytest.approx(expected, rel=0.05)
    assert (split_r_hat(values) < 1.01).all()


def test_two_modes_that_no_chain_leaves_are_seen():
    values = autoregressive(0.3, 4, 500)
    values[2:] += 6
    assert split_r_hat(values)[0] > 1.5
    assert ess_bulk(values)[0] < 10


def test_chains_of_one_centre_and_different_scales_are_seen():
    values = autoregressive(0.0, 4, 500) * np.array([1, 1, 1, 8.0])[:, None, None]
    assert split_r_hat(values)[0] > 1.05


def test_a_single_chain_that_drifts_is_seen():
    assert split_r_hat(autoregressive(0.0, 1, 400) + np.linspace(0, 3, 400)[:, None])[0] > 1.2
    assert split_r_hat(autoregressive(0.0, 1, 400))[0] < 1.02


def test_equal_draws_have_converged_and_stuck_chains_have_not():
    equal = np.full((4, 20, 1), 3.0)
    assert split_r_hat(equal)[0] == 1
    assert ess_bulk(equal)[0] == ess_tail(equal)[0] == 80
    stuck = equal + np.arange(4)[:, None, None]
    assert split_r_hat(stuck)[0] == np.inf


def test_too_few_draws_are_refused():
    with pytest.raises(ValueError, match="at least 4 draws"):
        split_r_hat(np.zeros((4, 3, 1)))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("measure", [effective_sample_size, ess_bulk, ess_tail, split_r_hat])
def test_a_quantity_with_a_draw_that_is_not_finite_has_no_diagnostics(measure, value):
    draws = np.random.default_rng(0).normal(size=(4, 100, 3))
    alone = measure(draws[..., :1])
    draws[..., 1], draws[1, 7, 2] = value, value
    found = measure(draws)
    assert found[0] == alone[0]
    assert np.isnan(found[1:]).all()
