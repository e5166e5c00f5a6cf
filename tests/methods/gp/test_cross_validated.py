"""The choice by held-out folds: rows stay unseen, noise is not fitted, and logarithms."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.gp.candidates import Candidate, TrainingRows
from bnnbench.methods.gp.cross_validated import CrossValidatedGp, CrossValidatedPosterior
from bnnbench.methods.gp.held_out_folds import folds_of, held_out, held_out_of_constant
from bnnbench.methods.gp.target_units import TargetUnits
from bnnbench.methods.predictions.log_normal import LogNormalPredictive
from bnnbench.methods.predictions.predictive import GaussianPredictive
from tests.methods.problems import regression, stream

PLAIN, LOG = Candidate("rbf", True, None), Candidate("rbf", True, -3.0)


def rows(count=60, seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(count, 2))
    return TrainingRows(inputs, np.sin(2 * inputs[:, 0]) + 0.2 * rng.normal(size=count), None)


def skewed(rows=80, zero=-1.0, seed=0):
    """Return a problem whose targets above `zero` have logarithms with Gaussian noise of 0.5."""
    rng = stream(seed)
    inputs = torch.randn(rows, 2, generator=rng)
    logs = inputs[:, :1] + 0.5 * torch.randn(rows, 1, generator=rng)
    return Problem(Split(inputs, zero + logs.exp()), Gaussian(), (), target_zero=zero)


def pure_noise(rows, features, seed):
    rng = stream(seed)
    inputs = torch.randn(rows, features, generator=rng)
    return Problem(Split(inputs, torch.randn(rows, 1, generator=rng)), Gaussian(), ())


@pytest.mark.parametrize("candidate", [PLAIN, LOG], ids=["plain", "log"])
def test_a_left_out_target_changes_neither_its_mean_nor_its_variance(candidate):
    few = rows()
    folds = folds_of(few, 5, np.random.default_rng(1))
    row = int(folds[2][3])
    ends = {}
    for target in (-2.0, 0.4, 2.5):
        targets = few.targets.copy()
        targets[row] = target
        ends[target] = held_out(candidate, replace(few, targets=targets), folds)
    # log N(t; m, v) and (t - m)^2 / v at three targets: m and v are those of the other two.
    others = np.delete(few.targets, folds[2])
    units = TargetUnits.of(others, candidate.zero)
    t = units.standardised(np.array([*ends]))
    z = np.sqrt([end.squares[row] for end in ends.values()]) * [-1, np.nan, 1]
    std = (t[2] - t[0]) / (z[2] - z[0])
    mean = t[0] - z[0] * std
    assert ends[0.4].squares[row] == pytest.approx(((t[1] - mean) / std) ** 2, rel=1e-6, abs=1e-9)
    remaining = next(fold for fold in folds if row not in fold)
    changed = [end.log_density[remaining] for end in ends.values()]
    assert np.abs(changed[0] - changed[1]).max() > 0


def test_densities_of_the_logarithm_are_those_of_the_target():
    targets, mean, variance = np.array([[-0.9, 0.0, 4.0], [0.1, -0.3, 0.8], [0.2, 0.2, 0.5]])
    units = TargetUnits(0.5, 1.3, zero=-1.0)
    scale = np.exp(0.5 + 1.3 * mean)
    expected = stats.lognorm(s=1.3 * variance**0.5, loc=-1.0, scale=scale).logpdf(targets)
    np.testing.assert_allclose(units.log_density(targets, mean, variance), expected, rtol=1e-12)


def test_the_constants_densities_are_those_of_the_other_folds():
    few = rows(20)
    folds = folds_of(few, 4, np.random.default_rng(0))
    found = held_out_of_constant(few.targets, folds)
    others = np.concatenate([few.targets[fold] for fold in folds[1:]])
    expected = stats.norm(others.mean(), others.std(ddof=1)).logpdf(few.targets[folds[0]])
    np.testing.assert_allclose(found[folds[0]], expected, rtol=1e-12)


def test_equal_inputs_are_in_one_fold_and_every_row_is_in_one():
    few = rows(40)
    few.inputs[20:] = few.inputs[:20]
    few.inputs[3] = [0.0, 1.0]
    few.inputs[23] = [-0.0, 1.0]
    for seed in range(5):
        folds = folds_of(few, 5, np.random.default_rng(seed))
        assert sorted(np.concatenate(folds)) == list(range(40))
        assert all({*fold} == {*(fold + 20) % 40} for fold in folds)
        assert {len(fold) for fold in folds} == {8}


@pytest.mark.parametrize(
    "size",
    [(80, 4, 0), *(pytest.param((200, 10, seed), marks=pytest.mark.long) for seed in range(3))],
)
def test_of_pure_noise_the_constant_predicts_and_says_so(size):
    problem = pure_noise(*size)
    posterior = CrossValidatedGp().fit(problem, stream(1))
    assert posterior.diagnostics["predicts_constant"] == 1
    prediction = posterior.predict(problem.train.inputs[:3], stream(0))
    assert isinstance(prediction, GaussianPredictive)
    torch.testing.assert_close(prediction.mean[0], problem.train.targets.mean(0).double())
    torch.testing.assert_close(prediction.variance[2], problem.train.targets.var(0).double())


def test_held_out_scores_are_said_and_the_best_predicts():
    problem = skewed()
    posterior = CrossValidatedGp(kernels=("rbf",), target="either").fit(problem, stream(1))
    scores = {k: v for k, v in posterior.diagnostics.items() if k.startswith("held_out_")}
    best = max(scores, key=scores.__getitem__)
    assert best == "held_out_rbf_one_length_of_log"
    assert posterior.diagnostics["candidate"] == [*scores].index(best)
    assert posterior.diagnostics["noise_std"] == pytest.approx(0.5, rel=0.2)
    assert scores["held_out_constant"] < scores[best] - 0.3
    assert isinstance(posterior.predict(problem.train.inputs, stream(0)), LogNormalPredictive)


def test_the_log_normal_predicts_skewed_targets_better_and_covers_them():
    problem, new = skewed(), skewed(rows=400, seed=5).train
    log, plain = (
        CrossValidatedGp(kernels=("rbf",), target=target)
        .fit(problem, stream(1))
        .predict(new.inputs, stream(0))
        for target in ("log", "plain")
    )
    assert log.log_prob(new.targets).mean() > plain.log_prob(new.targets).mean() + 0.2
    inside = (log.cdf(new.targets) - 0.5).abs() < 0.45
    assert float(inside.double().mean()) == pytest.approx(0.9, abs=0.05)


def test_inflation_widens_by_the_mean_square_of_held_out_errors():
    rng = stream(3)
    inputs = torch.randn(60, 4, generator=rng)
    tail = torch.from_numpy(np.random.default_rng(3).standard_t(2, (60, 1))).float()
    problem = Problem(Split(inputs, inputs[:, :1] + 0.3 * tail), Gaussian(), ())
    plain, wide = (
        CrossValidatedGp(kernels=("rbf",), inflation=inflation).fit(problem, stream(1))
        for inflation in (False, True)
    )
    assert isinstance(plain, CrossValidatedPosterior)
    few = TrainingRows(inputs.double().numpy(), problem.train.targets[:, 0].double().numpy(), None)
    seed = int(torch.randint(2**31, (1,), generator=stream(1)))
    numbers = np.random.default_rng(seed)
    some = few.some(numbers.permutation(60))
    shared = plain.diagnostics["candidate"] == 0
    squares = held_out(Candidate("rbf", shared, None), some, folds_of(some, 5, numbers)).squares
    one, other = (p.predict(inputs, stream(0)) for p in (plain, wide))
    torch.testing.assert_close(one.mean, other.mean)
    ratio = (other.variance / one.variance).flatten()
    assert ratio.numpy() == pytest.approx(max(1.0, squares.mean()), rel=1e-6)


def test_the_number_of_rows_for_the_kernel_limits_no_prediction():
    problem = regression(rows=80)
    posterior = CrossValidatedGp(rows_for_kernel=30).fit(problem, stream(1))
    assert isinstance(posterior, CrossValidatedPosterior)
    assert len(posterior.process.process.X_train_) == 80


def test_too_few_different_inputs_leave_the_constant():
    problem = skewed(rows=4)
    assert CrossValidatedGp().fit(problem, stream(0)).diagnostics == {"predicts_constant": 1.0}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"target_zero": None}, "target_zero"),
        ({"target_zero": 0.0}, "positive targets"),
        ({"likelihood": Gaussian(0.3)}, "unknown noise"),
    ],
)
def test_what_has_no_logarithm_is_refused_and_left_out_of_either(changes, words):
    problem = replace(skewed(rows=40), **changes)
    with pytest.raises(Unsupported, match=f"{words}.*target='plain'"):
        CrossValidatedGp(target="log").fit(problem, stream(0))
    either = CrossValidatedGp(kernels=("rbf",), target="either").fit(problem, stream(0))
    assert not any("of_log" in name for name in either.diagnostics)


def test_settings_and_problems_that_it_does_not_cover_are_refused():
    with pytest.raises(Unsupported, match="at most 30 rows"):
        CrossValidatedGp(most_rows=30).fit(skewed(rows=40), stream(0))
    with pytest.raises(ValueError, match="kernels out of rbf"):
        CrossValidatedGp(kernels=("cosine",))
