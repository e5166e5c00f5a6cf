"""Blocks, lengths, noise and choices of a search, each computed by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.methods.base import InferenceDiverged, Problem, Unsupported
from bnnbench.methods.networks.architectures import Linear
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.tuning.ladder import ladder
from bnnbench.methods.tuning.noise import best_noise
from bnnbench.methods.tuning.posterior import choose
from bnnbench.methods.tuning.rows import blocks_of, held_out
from bnnbench.methods.tuning.search import Search
from tests.methods.problems import classification, regression

LADDERS = {
    12: (25, 50, 100, 200, 400, 800),
    36: (25, 50, 100, 200, 400, 800),
    185: (13, 25, 50, 100),
    269: (13, 25, 50, 100),
    1029: (4, 7, 13, 25),
}


@pytest.mark.parametrize("steps", LADDERS)
def test_lengths_double_up_to_the_budget(steps):
    assert ladder(32 * steps, 32, 25_000) == LADDERS[steps]


@pytest.mark.parametrize(
    ("rows", "blocks"), [(10, 3), (455, 3), (3000, 3), (7373, 2), (10_000, 1), (41_157, 1)]
)
def test_as_many_blocks_as_have_2000_rows(rows, blocks):
    assert blocks_of(rows) == blocks


def rows_of(split: Split) -> set[tuple[float, ...]]:
    return {tuple(row) for row in torch.cat([split.inputs, split.targets], 1).tolist()}


def test_blocks_part_the_rows():
    problem = regression(rows=43)
    cases = held_out(problem, 5)
    blocks = [rows_of(case.block) for case in cases]
    assert [len(case.block) for case in cases] == [8] * 5
    assert len(set().union(*blocks)) == 40
    for case, block in zip(cases, blocks, strict=True):
        original = Split(
            case.problem.train.inputs * case.scale + case.shift,
            case.problem.train.targets * case.target_std + case.target_mean,
        )
        fitted = torch.cat([original.inputs, original.targets], 1)
        every = torch.tensor(sorted(rows_of(problem.train) - block))
        assert torch.allclose(fitted[fitted[:, 0].argsort()], every, atol=1e-5)


def test_what_is_fitted_is_standardised_and_predictions_return_to_the_units_of_all():
    problem = regression(rows=50)
    (case,) = held_out(problem, 1)
    train = case.problem.train
    for values in (train.inputs, train.targets):
        assert torch.allclose(values.mean(0), torch.zeros(1), atol=1e-6)
        assert torch.allclose(values.std(0, correction=0), torch.ones(1), atol=1e-6)
    assert torch.allclose(case.inputs * case.scale + case.shift, case.block.inputs, atol=1e-6)
    inner = (case.block.targets - case.target_mean) / case.target_std
    prediction = GaussianPredictive(inner[None], torch.full_like(inner[None], 0.04))
    outer = case.in_original_units(prediction)
    assert torch.allclose(outer.mean.float(), case.block.targets, atol=1e-6)
    log_prob = prediction.log_prob(inner) - math.log(case.target_std)
    assert torch.allclose(outer.log_prob(case.block.targets), log_prob)


def test_a_target_of_zero_keeps_its_place_among_the_fitted_targets():
    problem = replace(regression(rows=50), target_zero=-2.5)
    (case,) = held_out(problem, 1)
    zero = case.problem.target_zero
    assert zero is not None
    assert zero * case.target_std + case.target_mean == pytest.approx(-2.5)


def test_a_known_noise_is_rescaled_and_constants_stay():
    inputs = torch.cat([torch.randn(30, 1), torch.ones(30, 1), torch.zeros(30, 1)], 1)
    problem = Problem(Split(inputs, torch.randn(30, 1)), Gaussian(0.5), (Linear(1),))
    (case,) = held_out(problem, 1)
    assert case.problem.likelihood == Gaussian(0.5 / case.target_std)
    assert torch.equal(case.problem.train.inputs[:, 1:], inputs[:24, 1:])


@pytest.mark.parametrize("level", [0.3, 300.0])
def test_a_feature_or_target_that_is_rounding_without_the_block_keeps_its_scale(level):
    numbers = np.full(30, np.float32(level), np.float64)
    numbers[::2] = np.nextafter(np.float32(level), np.float32(2 * level))
    numbers[7] = level + 1
    odd = torch.from_numpy((numbers - numbers.mean()) / numbers.std()).float()[:, None]
    inputs = torch.cat([torch.randn(30, 1), odd], 1)
    cases = held_out(Problem(Split(inputs, odd), Gaussian(), (Linear(1),)), 5)
    (without,) = [case for case in cases if (case.block.targets > 1).any()]
    assert without.target_std == 1.0
    assert without.inputs[:, 1].abs().max() < 10
    assert without.problem.train.inputs[:, 1].abs().max() < 0.01


def test_a_feature_of_a_high_level_is_standardised_without_the_block():
    times = 1.7e9 + 1e5 * torch.randn(30, 1, dtype=torch.float64)
    problem = Problem(Split(times.float(), torch.randn(30, 1)), Gaussian(), (Linear(1),))
    (case,) = held_out(problem, 1)
    assert float(case.problem.train.inputs.std(correction=0)) == pytest.approx(1.0, rel=1e-3)


def test_equal_inputs_share_a_block():
    rng = torch.Generator().manual_seed(3)
    inputs = torch.randn(60, 2, generator=rng)[torch.randint(60, (400,), generator=rng)]
    problem = Problem(Split(inputs, torch.randn(400, 1)), Gaussian(), (Linear(1),))
    seen = [{tuple(row) for row in case.block.inputs.tolist()} for case in held_out(problem, 5)]
    assert sum(map(len, seen)) == len(set().union(*seen))
    for case in held_out(problem, 5):
        fitted = case.problem.train.inputs * case.scale + case.shift
        distance = torch.cdist(fitted, case.block.inputs).min()
        assert distance > 1e-4


def test_labels_and_images_are_left_as_they_are():
    (case,) = held_out(classification(rows=30, shape=(1, 4, 4)), 1)
    assert torch.equal(case.inputs, case.block.inputs)
    assert not case.problem.train.targets.is_floating_point()


def test_too_few_rows_are_refused():
    with pytest.raises(Unsupported, match="at least 10 training rows, to hold some out; got 9"):
        held_out(regression(rows=9), 1)


def test_noise_of_a_point_estimate_is_a_mean_square_with_that_of_training():
    errors = torch.tensor([0.04, 0.09, 0.01, 0.16]).sqrt()[None, :, None]
    assert best_noise(errors, 1.0) == pytest.approx((8 * 1.0 + 4 * 0.075) / 12)
    many = errors.repeat(1, 10_000, 1)
    assert best_noise(many, 1.0) == pytest.approx(0.075, rel=1e-2)


def test_noise_of_a_mixture_is_the_most_probable():
    rng = torch.Generator().manual_seed(1)
    errors = torch.randn(7, 40, 1, generator=rng, dtype=torch.float64)

    def loss(log_variance: float, prior_rows: float = 8.0) -> float:
        std = math.exp(log_variance / 2)
        rows = np.logaddexp.reduce(norm.logpdf(errors[..., 0].numpy(), scale=std), 0) - math.log(7)
        return -rows.sum() - prior_rows * norm.logpdf(math.sqrt(0.3), scale=std)

    best = minimize_scalar(loss, bounds=(-6, 3), method="bounded", options={"xatol": 1e-8})
    assert math.log(best_noise(errors, 0.3)) == pytest.approx(best.x, abs=2e-4)


@pytest.mark.parametrize("rows", [6, 12, 30, 600])
@pytest.mark.parametrize("share", [1.0, 0.5, 0.01])
def test_noise_of_few_rows_costs_no_more_than_noise(rows, share):
    """Training finds a share of the true variance, 1; the expected loss is in closed form."""
    errors = torch.randn(300, rows, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    found = np.array([best_noise(each[None, :, None], share) for each in errors])
    losses = [0.5 * (1 / variance + np.log(variance)) for variance in (found, share)]
    change = losses[0] - losses[1]
    assert change.mean() < 0.03
    assert change.mean() < -0.03 or share == 1.0


def a_search(scores, rows=(10, 10)) -> Search:
    """Return a search with these mean scores, `trials x lengths`, in both blocks."""
    scores = np.array(scores, dtype=float)
    cells = np.repeat(scores[..., None], len(rows), axis=2)
    trials, lengths = scores.shape
    return Search(
        tuple({"rate": 0.1 * t} for t in range(trials)),
        tuple({"rate": t / trials} for t in range(trials)),
        tuple(25 * 2**n for n in range(lengths)),
        rows,
        cells,
        -cells,
        np.full((trials, lengths), np.nan),
        np.full((trials, lengths), np.nan),
        np.ones((trials, lengths)),
    )


NAN = math.nan


@pytest.mark.parametrize(
    ("scores", "chosen"),
    [
        ([[-2.0, -1.0], [-1.5, -1.2]], (0, 1)),
        ([[-1.0, -1.00001], [-1.00002, -1.0]], (0, 0)),  # all equal: shorter, then lower
        ([[-1.1, -1.0], [-1.0, -1.1]], (1, 0)),  # equal: the shorter
        ([[NAN, NAN], [-3.0, NAN]], (1, 0)),
        ([[-4.0]], (0, 0)),
        ([[math.inf, -1.0], [-2.0, -2.0]], (0, 1)),  # no real score
    ],
)
def test_choices(scores, chosen):
    assert choose(a_search(scores)) == chosen


def test_one_block_without_a_score_is_worst_and_blocks_weigh_by_their_rows():
    search = a_search([[-1.0], [-2.0]])
    search.log_likelihood[0, 0, 1] = NAN
    assert choose(search) == (1, 0)
    weighed = a_search([[0.0], [0.0]], rows=(30, 10))
    weighed.log_likelihood[:, 0] = [[-1.0, -2.0], [-2.0, 0.0]]
    assert weighed.scores[:, 0] == pytest.approx([-1.25, -1.5])


def test_all_diverged_is_a_divergence():
    with pytest.raises(InferenceDiverged, match="each of 2 trials diverged"):
        choose(a_search([[NAN], [NAN]]))


def test_the_ranking_takes_each_trial_at_its_best_length():
    search = a_search([[-3.0, -1.0], [NAN, NAN], [-0.5, -2.0]])
    assert search.best_lengths == [1, None, 0]
    assert search.ranking == [2, 0]


def test_a_search_survives_json_and_damage_is_found():
    search = a_search([[-3.0, NAN], [-0.5, -2.0]])
    data = search.as_data()
    again = Search.from_data(data)
    assert again.as_data() == data
    assert choose(again) == choose(search)
    before = {name: value for name, value in data.items() if name != "temperature"}
    assert Search.from_data(before).as_data() == data
    for damage in ({"rows": (1, 2, 3)}, {"error": [[1.0]]}, {"lengths": None}):
        with pytest.raises(ValueError, match="not a search"):
            Search.from_data(data | damage)
    with pytest.raises(ValueError, match="not a search"):
        Search.from_data({})
