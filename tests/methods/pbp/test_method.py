"""The whole method: both filters, real data, guards, threads, interruption, refusals."""

import dataclasses
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from scipy.stats import norm
from sklearn.datasets import load_digits

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.datasets.official.uci import Uci
from bnnbench.methods.base import InferenceDiverged, Problem, Unsupported
from bnnbench.methods.fitting import progress
from bnnbench.methods.networks.architectures import Conv2d, Flatten, Linear, ReLU, Tanh
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.networks.priors import FixedPrecision
from bnnbench.methods.pbp.method import Pbp
from tests.methods.pbp.states import flat, random_state, take
from tests.methods.problems import classification, exact_posterior, regression, stream, streams


def uci_problem(name: str, fold: int = 0, hidden=(50,), rows: int | None = None):
    data = Uci(name).load(fold)
    train = data.train.rows(slice(rows))
    return Problem(train, data.likelihood, mlp(list(hidden), outputs=1)), data


@pytest.mark.long
@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize(("name", "hidden"), [("boston", (50,)), ("yacht", (20, 10))])
def test_both_filters_agree_over_forty_epochs_of_real_rows(name, hidden):
    problem, data = uci_problem(name, hidden=hidden, rows=60)
    posteriors = [Pbp(backend=b).fit(problem, stream(3)) for b in ("compiled", "reference")]
    one, other = (posterior.state for posterior in posteriors)
    for field in ("mean", "variance", "factor_precision"):
        values = flat(getattr(one, field), one), flat(getattr(other, field), other)
        torch.testing.assert_close(*values, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(one.noise, other.noise, rtol=1e-8, atol=0)
    # A cavity may amplify rounding by its largest variance, 1e6, before it enters the prior's.
    torch.testing.assert_close(one.prior, other.prior, rtol=1e-6, atol=0)
    assert one.counts.tolist() == other.counts.tolist()
    first, second = (p.predict(data.test.inputs, stream(0)) for p in posteriors)
    torch.testing.assert_close(first.mean, second.mean, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(first.variance, second.variance, rtol=1e-8, atol=0)


# Test RMSE and log likelihood with standard errors over 20 splits: paper 004, table 1.
PUBLISHED = {
    "boston": (3.014, 0.180, -2.574, 0.089),
    "yacht": (1.015, 0.054, -1.634, 0.016),
}


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("name", PUBLISHED)
def test_error_and_likelihood_agree_with_the_paper(name):
    problems, folds = zip(*(uci_problem(name, fold) for fold in range(20)), strict=True)
    scores = []
    for posterior, data in zip(Pbp().fit_many(problems, streams(*range(20))), folds, strict=True):
        prediction = posterior.predict(data.test.inputs, stream(0))
        prediction = prediction.rescaled(data.target.mean, data.target.std)
        targets = data.test.targets.double() * data.target.std + data.target.mean
        rmse = (prediction.mean - targets).square().mean().sqrt()
        scores.append([float(rmse), float(prediction.log_prob(targets).mean())])
    means, errors = np.mean(scores, 0), np.std(scores, 0, ddof=1) / 20**0.5
    rmse, rmse_error, log_likelihood, log_likelihood_error = PUBLISHED[name]
    assert abs(means[0] - rmse) < 2 * np.hypot(errors[0], rmse_error)
    assert abs(means[1] - log_likelihood) < 2 * np.hypot(errors[1], log_likelihood_error)


def test_digits_are_told_apart_and_the_confidence_is_earned():
    inputs, targets = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(inputs))
    inputs, targets = torch.from_numpy(inputs[order] / 8 - 1), torch.from_numpy(targets[order])
    problem = Problem(Split(inputs[:1300], targets[:1300]), Categorical(10), mlp([30], outputs=10))
    posterior = Pbp(epochs=10).fit(problem, stream(0))
    log_probs = posterior.predict(inputs[1300:], stream(1)).log_probs[0]
    accuracy = float((log_probs.argmax(1) == targets[1300:]).double().mean())
    confidence = float(log_probs.exp().amax(1).mean())
    assert accuracy > 0.94
    assert abs(accuracy - confidence) < 0.03
    assert -float(log_probs.gather(1, targets[1300:, None]).mean()) < 0.2


def test_one_pass_of_linear_regression_is_near_the_exact_posterior(linear):
    # Sums of five weights are divided by √5, and the prior variance is 6/5.
    exact, precision = exact_posterior(linear, 0.5, prior_precision=5 / 1.2)
    posterior = Pbp(epochs=1).fit(linear, stream(0))
    state, std = posterior.state, precision.diagonal().rsqrt()
    (mean,), (variance,) = (state.layout.layers(v) for v in (state.mean, state.variance))
    assert ((mean[0] / 5**0.5 - exact) / std).abs().max() < 1
    assert ((variance[0] / 5).sqrt() / std - 1).abs().max() < 0.25
    assert state.noise_variance.tolist() == pytest.approx([0.25])
    assert posterior.diagnostics["noise_std"] == pytest.approx(0.5)
    assert "noise_shape" not in posterior.diagnostics


def test_every_output_learns_its_own_noise():
    problem = regression(rows=200)
    rng = stream(1)
    noise = torch.randn(200, 2, generator=rng) * torch.tensor([0.1, 1.0])
    targets = problem.train.inputs[:, :2] + noise
    problem = dataclasses.replace(
        problem, train=Split(problem.train.inputs, targets), architecture=(Linear(2),)
    )
    variance = Pbp().fit(problem, stream(0)).state.noise_variance
    assert variance.sqrt().tolist() == pytest.approx([0.1, 1.0], rel=0.2)


@pytest.mark.parametrize("backend", ["compiled", "reference"])
def test_an_extreme_outlier_leaves_noise_as_it_is_and_is_counted(backend):
    state = random_state((2, 3, 1), outputs_noise=(6.0, 0.001))
    take(backend, state, [1e-3, 1e-3], [1e200])
    assert state.noise.tolist() == [[6.0, 0.001]]
    assert state.counts[2] == 1
    assert state.is_proper()


def test_the_weights_of_a_constant_feature_stay_as_they_began():
    problem = regression()
    inputs = problem.train.inputs.clone()
    inputs[:, 2] = 0
    problem = dataclasses.replace(problem, train=Split(inputs, problem.train.targets))
    before = Pbp(epochs=1).fit(problem, stream(0)).state
    after = Pbp(epochs=10).fit(problem, stream(0)).state
    first = [state.layout.layers(state.mean)[0] for state in (before, after)]
    assert torch.equal(first[0][:, 2], first[1][:, 2])
    assert not torch.equal(first[0], first[1])
    variances = after.layout.layers(after.variance)[0]
    assert (variances[:, 2] == 1.2).all()
    assert (variances != 1.2).sum() == variances[:, [0, 1, 3, 4]].numel()
    assert after.counts[1] >= 10 * 7


def test_the_posterior_is_proper_and_says_how_it_went():
    posterior = Pbp(epochs=5).fit(regression(), stream(0))
    assert posterior.state.is_proper()
    assert set(posterior.diagnostics) == {
        *("prior_shape", "prior_rate", "noise_shape", "noise_rate", "noise_std"),
        *("rejected_updates", "skipped_refinements", "kept_noise_updates", "std_over_draws"),
        "converged",
    }
    assert posterior.diagnostics["noise_shape"] == pytest.approx(6 + 5 * 37 / 2, rel=0.3)
    assert posterior.diagnostics["rejected_updates"] == 0
    assert posterior.diagnostics["converged"] == 1
    classes = Pbp(epochs=5).fit(classification(), stream(0)).diagnostics
    assert set(classes) == {
        *("prior_shape", "prior_rate", "rejected_updates", "skipped_refinements"),
        *("std_over_draws", "converged"),
    }


def test_threads_change_nothing():
    problems = [regression(seed) for seed in range(5)]
    alone = Pbp(epochs=3).fit_many(problems, streams(*range(5)))
    torch.set_num_threads(2)
    try:
        shared = Pbp(epochs=3).fit_many(problems, streams(*range(5)))
    finally:
        torch.set_num_threads(1)
    for one, other in zip(alone, shared, strict=True):
        assert torch.equal(one.state.mean, other.state.mean)
        assert torch.equal(one.state.noise, other.state.noise)


def test_an_epoch_in_pieces_is_the_epoch(monkeypatch):
    whole = Pbp(epochs=2).fit(regression(), stream(0))
    monkeypatch.setattr("bnnbench.methods.pbp.method.ROWS_AT_ONCE", 5)
    pieces = Pbp(epochs=2).fit(regression(), stream(0))
    assert torch.equal(whole.state.mean, pieces.state.mean)


def test_it_reports_every_epoch_with_a_loss_that_falls():
    heard = []
    with progress.listening(lambda *report: heard.append(report)):
        Pbp(epochs=4).fit(regression(), stream(0))
    assert [report[:2] for report in heard] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert heard[-1][2] < heard[0][2]


def test_several_fits_report_how_many_are_done_and_their_last_loss():
    last, heard = [], []
    for seed in (0, 1):
        with progress.listening(lambda *report: last.append(report[2])):
            Pbp(epochs=4).fit(regression(seed), stream(seed))
    with progress.listening(lambda *report: heard.append(report)):
        Pbp(epochs=4).fit_many([regression(0), regression(1)], streams(0, 1))
    assert [report[:2] for report in heard] == [(1, 2), (2, 2)]
    assert {report[2] for report in heard} == {last[3], last[7]}


def test_an_interrupted_fit_leaves_nothing_behind():
    problem = regression()
    expected = Pbp(epochs=3).fit(problem, stream(0)).state.mean

    def interrupt(done: int, total: int, loss: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), progress.listening(interrupt):
        Pbp(epochs=3).fit(problem, stream(0))
    assert torch.equal(Pbp(epochs=3).fit(problem, stream(0)).state.mean, expected)


def test_data_that_are_not_finite_diverge():
    problem = regression()
    targets = problem.train.targets.clone()
    targets[3] = torch.nan
    with pytest.raises(InferenceDiverged, match="not finite"):
        Pbp(epochs=1).fit(
            dataclasses.replace(problem, train=Split(problem.train.inputs, targets)), stream(0)
        )


@pytest.mark.parametrize(
    "architecture",
    [
        (Linear(5), Tanh(), Linear(1)),
        (Linear(5, bias=False), ReLU(), Linear(1)),
        (Conv2d(2, kernel=3), ReLU(), Flatten(), Linear(1)),
        (Linear(5), ReLU(), Linear(3)),
    ],
)
def test_other_networks_are_refused_with_what_was_needed(architecture):
    with pytest.raises(Unsupported, match=r"^needed"):
        Pbp(epochs=1).fit(regression(architecture=architecture), stream(0))


@pytest.mark.parametrize(
    "settings",
    [
        {"epochs": 0},
        {"prior_shape": 1.0},
        {"noise_shape": 0.5},
        {"noise_rate": 0.0},
        {"prior_rate": -1.0},
    ],
)
def test_settings_without_meaning_are_refused(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        Pbp(**settings)


@pytest.mark.long
def test_without_numba_the_message_names_both_cures_and_the_second_works(project):
    program = """
import sys
sys.modules["numba"] = None
from bnnbench.methods.pbp.method import Pbp
from tests.methods.problems import regression, stream
Pbp(epochs=1, backend="reference").fit(regression(rows=4), stream(0))
Pbp(epochs=1).fit(regression(), stream(0))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=project, capture_output=True, text=True
    )
    last = done.stderr.strip().splitlines()[-1]
    assert re.search(r'PackageMissing: .*pip install numba.*backend="reference"', last), done.stderr


def test_known_noise_is_never_updated():
    known = Pbp(epochs=3).fit(regression(noise_std=0.3), stream(0))
    assert known.likelihood == Gaussian(0.3)
    assert known.state.noise[0].tolist() == pytest.approx([2.0, 0.3**2])


@pytest.mark.parametrize("noise_std", [None, 0.3])
@pytest.mark.parametrize(("factor", "offset"), [(1e8, 0.0), (1e-8, 0.0), (1e4, 3e4)])
def test_the_unit_of_the_targets_makes_no_difference(noise_std, factor, offset):
    plain = regression(rows=60, noise_std=noise_std)
    targets = plain.train.targets.double()
    other = dataclasses.replace(
        plain,
        train=Split(plain.train.inputs, targets * factor + offset),
        likelihood=Gaussian(None if noise_std is None else noise_std * factor),
    )
    method, inputs = Pbp(epochs=5), plain.train.inputs
    one, two = (method.fit(p, stream(1)) for p in (plain, other))
    first, second = (p.predict(inputs, stream(2)) for p in (one, two))
    expected = first.rescaled(offset, factor)
    torch.testing.assert_close(second.mean, expected.mean, rtol=1e-5, atol=1e-5 * factor)
    torch.testing.assert_close(second.variance, expected.variance, rtol=1e-5, atol=0)
    assert two.diagnostics["noise_std"] == pytest.approx(one.diagnostics["noise_std"] * factor)
    assert one.diagnostics["converged"] == two.diagnostics["converged"] == 1


def test_an_outlier_that_dominates_is_survived_or_marked():
    rng, converged = stream(1), []
    inputs = torch.randn(200, 4, generator=rng)
    clean = inputs @ torch.tensor([[0.8], [-0.5], [0.2], [0.0]])
    clean = clean + 0.3 * torch.randn(200, 1, generator=rng)
    for seed in range(6):
        targets = clean.clone()
        targets[seed] = 1e3
        mean, std = targets.mean(), targets.std(correction=0)
        problem = Problem(Split(inputs, (targets - mean) / std), Gaussian(None), mlp([50], 1))
        posterior = Pbp().fit(problem, stream(seed))
        truth = (clean - mean) / std
        log_prob = float(posterior.predict(inputs, stream(0)).log_prob(truth).mean())
        constant = norm.logpdf(truth.numpy()).mean()
        converged.append(posterior.diagnostics["converged"])
        assert log_prob > constant - 1 or converged[-1] == 0
    assert 0 in converged


def test_a_fit_in_the_targets_unit_is_compared_with_their_own_constant():
    plain = regression(rows=60, noise_std=None)
    targets = 0.01 * plain.train.targets
    problem = dataclasses.replace(
        plain, train=Split(plain.train.inputs, targets), prior=FixedPrecision(1.0)
    )
    posterior = Pbp(epochs=5).fit(problem, stream(1))
    log_prob = posterior.predict(plain.train.inputs, stream(0)).log_prob(targets).mean()
    constant = norm.logpdf(targets, targets.mean(), targets.std(correction=0)).mean()
    assert log_prob < constant - 1
    assert posterior.diagnostics["converged"] == 0


def test_a_filter_that_rejects_its_updates_has_not_converged():
    plain = regression(rows=40)
    problem = dataclasses.replace(
        plain, train=Split(plain.train.inputs * 1e30, plain.train.targets)
    )
    assert Pbp(epochs=2).fit(problem, stream(0)).diagnostics["converged"] == 0
