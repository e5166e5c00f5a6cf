"""Whole searches: they find the best setting, use no other row, and are repeatable."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from scipy.stats import norm

from bnnbench.datasets.base import Gaussian
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import InferenceDiverged, Unsupported
from bnnbench.methods.checkpoints.checkpoint import checkpointing
from bnnbench.methods.libraries.sklearn_boosting import SklearnBoosting
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.tuning.method import Tuned
from bnnbench.methods.tuning.noise import PRIOR_ROWS
from bnnbench.methods.tuning.posterior import TunedPosterior, choose
from bnnbench.methods.tuning.tables import Tables
from bnnbench.methods.tuning.temperature import PRIOR_PRECISION
from tests.methods.problems import classification, regression, stream, streams
from tests.methods.tuning.fakes import Parabola

QUICK = Tuned(AdamW(batch_size=8), trials=2, blocks=2, lengths=(1, 3))


def test_the_best_setting_is_found_within_a_cell():
    tuned = Tuned(Parabola(), trials=16)
    posterior = tuned.fit(regression(rows=40), stream(0))
    assert isinstance(posterior, TunedPosterior)
    chosen = posterior.search.settings[posterior.trial]
    cost = {
        t: abs(math.log10(s["rate"] / 0.1)) + 0.3 * abs(math.log2(s["width"] / 8))
        for t, s in enumerate(posterior.search.settings)
    }
    assert cost[posterior.trial] == min(cost.values())
    assert posterior.search.lengths[posterior.rung] == 50
    assert posterior.diagnostics["chosen_rate"] == chosen["rate"]
    assert posterior.diagnostics["chosen_length"] == 50


def test_halving_finds_it_too_with_fewer_fits():
    problem = regression(rows=40)
    full, halved = (Tuned(Parabola(), halving=h).fit(problem, stream(0)) for h in (False, True))
    assert isinstance(halved, TunedPosterior)
    assert isinstance(full, TunedPosterior)
    made = np.isfinite(halved.search.scores)
    assert made.sum(0).tolist() == [16, 8, 4]
    assert halved.trial == full.trial
    best_before = sorted(np.argsort(-full.search.scores[:, 0], kind="stable")[:8])
    assert np.flatnonzero(made[:, 1]).tolist() == best_before


def test_halving_refits_the_choice_alone_or_the_next_where_it_diverges():
    problem = regression(rows=40)
    halved = Tuned(Parabola(), halving=True).fit(problem, stream(0))
    assert isinstance(halved, TunedPosterior)
    assert set(halved.trials) == {halved.trial} == {halved.search.ranking[0]}
    fragile = Tuned(Parabola(diverges_with_rows=40), halving=True)
    with pytest.raises(InferenceDiverged, match="the 4 best of 16 trials diverged"):
        fragile.fit(problem, stream(0))
    few = Tuned(Parabola(diverges_with_rows=40), trials=4, halving=True).fit(problem, stream(0))
    assert isinstance(few, TunedPosterior)
    rates = [few.search.settings[trial]["rate"] for trial in few.search.ranking]
    survivor = next(n for n, rate in enumerate(rates) if abs(math.log10(rate / 0.1)) >= 1)
    assert few.skipped == survivor > 0
    assert few.trial == few.search.ranking[survivor]


def test_trials_that_diverge_lose_and_if_all_do_the_fit_does():
    problem = regression(rows=40)
    posterior = Tuned(Parabola(diverges_above=0.02)).fit(problem, stream(0))
    assert isinstance(posterior, TunedPosterior)
    assert posterior.search.settings[posterior.trial]["rate"] < 0.02
    with pytest.raises(InferenceDiverged, match="each of 16 trials diverged"):
        Tuned(Parabola(diverges_above=0.0)).fit(problem, stream(0))


def test_a_trial_that_diverges_in_predicting_loses_and_costs_no_other():
    posterior = Tuned(Parabola(falls_above=0.02)).fit(regression(rows=40), stream(0))
    assert isinstance(posterior, TunedPosterior)
    rates = np.array([setting["rate"] for setting in posterior.search.settings])
    assert rates[posterior.trial] < 0.02
    assert np.array_equal(np.isneginf(posterior.search.scores).all(1), rates > 0.02)


@pytest.mark.parametrize("noise", ["own", "held_out"])
def test_predictions_without_a_likelihood_are_refused_with_a_reason(noise):
    boosting = Tuned(SklearnBoosting(trees=2), trials=1, noise=noise)
    with pytest.raises(Unsupported, match="log likelihood of held-out rows, which Quantile"):
        boosting.fit(regression(rows=40), stream(0))


def test_a_choice_that_diverges_on_all_rows_gives_way_to_the_next():
    @dataclass(frozen=True)
    class FailsOnAll(Parabola):
        rows: int = 40

        def _fit(self, problem, rng):
            best = 0.05 < self.rate < 0.2
            if best and len(problem.train) == self.rows:
                return InferenceDiverged("on all rows")
            return super()._fit(problem, rng)

    posterior = Tuned(FailsOnAll()).fit(regression(rows=40), stream(0))
    assert isinstance(posterior, TunedPosterior)
    assert posterior.skipped >= 1
    assert posterior.diagnostics["skipped_settings"] == posterior.skipped
    assert posterior.trial == posterior.search.ranking[posterior.skipped]


@pytest.mark.parametrize("make", [regression, classification])
def test_it_is_repeatable_and_its_choice_replays(make):
    problem = make(rows=40)
    tuned = replace(QUICK, method=McDropout(draws=3, training=AdamW(batch_size=8)))
    first, second = (tuned.fit(problem, stream(1)) for _ in range(2))
    assert isinstance(first, TunedPosterior)
    assert isinstance(second, TunedPosterior)
    assert (first.trial, first.rung) == choose(first.search)
    one, other = first.search.as_data(), second.search.as_data()
    del one["seconds"], other["seconds"]
    assert one == other
    predictions = [p.predict(problem.train.inputs, stream(2)).pack() for p in (first, second)]
    for name, values in predictions[0].items():
        assert torch.equal(torch.as_tensor(values), torch.as_tensor(predictions[1][name]))


def test_problems_of_equal_rows_share_a_search_and_differ_in_their_refits():
    problem = regression(rows=40)
    fits = QUICK.fit_many([problem, problem, regression(7, rows=40)], streams(1, 2, 1))
    one, same, other = fits
    assert isinstance(one, TunedPosterior)
    assert isinstance(same, TunedPosterior)
    assert isinstance(other, TunedPosterior)
    assert one.search is same.search
    assert other.search is not one.search
    points = problem.train.inputs
    means = [p.predict(points, stream(0)).mean for p in (one, same)]  # pyright: ignore[reportAttributeAccessIssue]
    assert not torch.equal(*means)
    (alone,) = QUICK.fit_many([problem], streams(2))
    assert isinstance(alone, TunedPosterior)
    assert alone.trial == same.trial
    prediction = alone.predict(points, stream(0))
    assert torch.equal(prediction.mean, means[1])  # pyright: ignore[reportAttributeAccessIssue]


def test_the_refit_is_the_chosen_method_on_all_rows():
    problem = regression(rows=40)
    posterior = replace(QUICK, noise="own").fit(problem, stream(5))
    assert isinstance(posterior, TunedPosterior)
    settings = posterior.search.settings[posterior.trial]
    length = posterior.search.lengths[posterior.rung]
    plain = AdamW(batch_size=8, epochs=length, **settings)  # pyright: ignore[reportArgumentType]
    ours = posterior.predict(problem.train.inputs, stream(0))
    theirs = plain.fit(problem, stream(5)).predict(problem.train.inputs, stream(0))
    assert torch.equal(ours.means, theirs.means)  # pyright: ignore[reportAttributeAccessIssue]
    assert torch.equal(ours.variances, theirs.variances)  # pyright: ignore[reportAttributeAccessIssue]


def test_held_out_temperature_agrees_with_the_held_out_rows():
    problem = classification(rows=60)
    tuned = replace(QUICK, trials=4)
    hot, own = (
        replace(tuned, noise=noise).fit(problem, stream(0)) for noise in ("held_out", "own")
    )
    assert isinstance(hot, TunedPosterior)
    assert isinstance(own, TunedPosterior)
    assert np.isnan(own.search.temperature).all()
    assert np.isfinite(hot.search.temperature).all()
    assert (hot.search.scores >= own.search.scores - 1e-9).all()
    np.testing.assert_array_equal(hot.search.error, own.search.error)
    for trial, fit in hot.trials.items():
        temperature = hot.search.temperature[trial, hot.search.best_lengths[trial]]
        assert fit.diagnostics["temperature"] == pytest.approx(temperature)


def test_the_temperature_of_a_cell_is_the_best_for_all_its_blocks():
    """By a grid over temperatures of the fits that the search made."""
    problem = classification(rows=60)
    method = AdamW(epochs=3, batch_size=8)
    posterior = Tuned(method, trials=1, blocks=2, lengths=(3,)).fit(problem, stream(0))
    assert isinstance(posterior, TunedPosterior)
    plan = Tuned(method, trials=1, blocks=2, lengths=(3,)).plan(
        len(problem.train), problem.likelihood
    )
    table, losses = Tables(plan, problem), []
    fits = [
        (case, plan.variant(0, 0).fit(case.problem, table.stream("fit", block)))
        for block, case in enumerate(table.cases)
    ]
    grid = np.exp(np.linspace(-2, 2, 4001))
    log_probs, labels = [], []
    for case, fit in fits:
        log_probs.append(fit.predict(case.inputs, stream(0)).mixture_log_probs)
        labels.append(case.block.targets)
    joined, targets = torch.cat(log_probs), torch.cat(labels)
    for temperature in grid:
        scaled = (joined / temperature).log_softmax(1)
        losses.append(-float(scaled[torch.arange(len(targets)), targets].mean()))
    prior = norm.logpdf(np.log(grid), scale=PRIOR_PRECISION**-0.5)
    best = np.argmin(len(targets) * np.array(losses) - prior)
    assert posterior.search.temperature[0, 0] == pytest.approx(grid[best], rel=2e-3)
    assert -posterior.search.scores[0, 0] == pytest.approx(losses[best], abs=1e-4)


def test_held_out_noise_agrees_with_the_held_out_residuals():
    problem = regression(rows=60, true_std=0.5)
    tuned = Tuned(AdamW(batch_size=8), trials=2, lengths=(2, 40))
    posterior = tuned.fit(problem, stream(5))
    assert isinstance(posterior, TunedPosterior)
    search, cell = posterior.search, (posterior.trial, posterior.rung)
    rows, errors = sum(search.rows), search.error[cell].mean()
    trained = (search.noise_variance[cell] * (rows + PRIOR_ROWS) - rows * errors) / PRIOR_ROWS
    assert 0.01 < trained < 2.0
    variances = posterior.predict(problem.train.inputs, stream(0)).variances  # pyright: ignore[reportAttributeAccessIssue]
    assert variances.unique().tolist() == pytest.approx([search.noise_variance[cell]], rel=1e-6)
    noise, errors = search.noise_variance, search.error.mean(-1)
    scores = -0.5 * (np.log(2 * np.pi * noise) + errors / noise)
    assert search.scores == pytest.approx(scores, abs=1e-6)


@pytest.mark.parametrize("problem", [regression(rows=40, noise_std=0.3), classification(rows=40)])
def test_a_known_noise_is_kept_and_classes_have_none(problem):
    posterior = QUICK.fit(problem, stream(5))
    assert isinstance(posterior, TunedPosterior)
    assert np.isnan(posterior.search.noise_variance).all()
    assert problem.likelihood != Gaussian(None)


def test_what_has_nothing_to_choose_is_fitted_as_it_is():
    problem = regression(rows=40)
    ours, theirs = (m.fit(problem, stream(1)) for m in (Tuned(Marginal()), Marginal()))
    assert type(ours) is type(theirs)


def test_it_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    problem, calls = regression(rows=40), []

    @dataclass(frozen=True)
    class Counted(Parabola):
        stop: ClassVar[int] = 20

        def _fit(self, problem, rng):
            calls.append(problem)
            if len(calls) == self.stop:
                raise KeyboardInterrupt
            return super()._fit(problem, rng)

    whole = Tuned(Counted(), trials=4, blocks=2)
    calls.extend([None] * 100)
    expected = whole.fit(problem, stream(1))
    calls.clear()
    with pytest.raises(KeyboardInterrupt), checkpointing(tmp_path, {"fit": "1"}, every=0):
        whole.fit(problem, stream(1))
    with checkpointing(tmp_path, {"fit": "1"}, every=0) as checkpoint:
        resumed = whole.fit(problem, stream(1))
    assert checkpoint.resumed == 1
    fits = 4 * 3 * 2 + 4
    assert len(calls) == fits + 2  # the calls of the interrupted step, again
    assert isinstance(resumed, TunedPosterior)
    assert isinstance(expected, TunedPosterior)
    assert np.array_equal(resumed.search.scores, expected.search.scores)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"trials": 12}, "a power of two; got 12"),
        ({"blocks": 6}, r"blocks in \[1, 6\)"),
        ({"lengths": (3, 2)}, r"ascending lengths of at least 1; got \(3, 2\)"),
    ],
)
def test_bad_settings_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        Tuned(AdamW(), **settings)
