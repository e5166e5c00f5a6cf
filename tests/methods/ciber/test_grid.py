"""The grid of CIBER: its descents, its choice, and early stops side by side."""

import math
from dataclasses import replace
from itertools import product

import pytest
import torch
from torch.distributions import Normal

from bnnbench.methods.base import InferenceDiverged, Unsupported
from bnnbench.methods.ciber.early_stops import last_iterates
from bnnbench.methods.ciber.grid import CiberByGrid
from bnnbench.methods.ciber.method import Ciber
from bnnbench.methods.ciber.posterior import CollapsedPosterior
from bnnbench.methods.fitting.validation_search import set_aside
from bnnbench.methods.trajectory.collector import Descent, collect
from bnnbench.methods.trajectory.schedules import Constant, Plateau
from tests.methods.problems import classification, regression, stream, streams

STOPPING = Descent(
    0.05, 0.9, 1e-3, epochs=60, batch_size=8, start=0.0, schedule=Plateau(0.9, 4, early_stop=True)
)
SHORT = Descent(0.02, 0.9, 1e-3, epochs=4, batch_size=8, schedule=Constant())


@pytest.mark.long
def test_descents_that_stop_early_are_equal_side_by_side_and_alone():
    problems, seeds = [regression(n, 41) for n in range(6)], range(3, 9)
    rows = [set_aside(p, 1 / 9, rng)[1] for p, rng in zip(problems, streams(*seeds), strict=True)]
    together = last_iterates(problems, streams(*seeds), STOPPING, 5, rows)
    lengths = set()
    for problem, seed, iterates in zip(problems, seeds, together, strict=True):
        alone = collect([problem], [stream(seed)], STOPPING, 5)
        assert torch.equal(iterates.weights, alone.samples[0])
        lengths.add(alone.stack.steps)
    assert len(lengths) > 1  # some stopped before others


@pytest.mark.parametrize("descent", [STOPPING, SHORT])
def test_a_grid_of_one_is_ciber(descent):
    setting = {"samples": 3, "bounds": "minmax", "epsilons": (1e-3, 1e-1)}
    plain = Ciber(descent, **setting).fit(regression(), stream(3))
    grid = CiberByGrid(
        replace(descent, learning_rate=1.0),
        learning_rates=(descent.learning_rate,),
        weight_decays=(descent.weight_decay,),
        **setting,
    ).fit(regression(), stream(3))
    inputs, targets = regression(9).train.inputs, regression(9).train.targets
    densities = [p.predict(inputs, stream(1)).log_prob(targets) for p in (plain, grid)]
    assert torch.equal(*densities)


def test_the_choice_is_the_best_likelihood_of_rows_that_no_descent_saw():
    problem, rates, decays = regression(), (1e-4, 3e-2), (0.0, 0.3)
    method = CiberByGrid(SHORT, samples=2, learning_rates=rates, weight_decays=decays)
    fitted = method.fit(problem, stream(3))
    assert isinstance(fitted, CollapsedPosterior)
    scores = {}
    for rate, decay in product(rates, decays):
        rng = stream(3)
        rest, rows = set_aside(problem, 1 / 9, rng)
        descent = replace(SHORT, learning_rate=rate, weight_decay=decay)
        path = collect([rest], [rng], descent, 2)
        outputs = path.stack.network(path.samples[0], rows.inputs[None], buffers=path.buffers[0])
        means, variances = outputs.detach().chunk(2, -1)
        each = Normal(means.double(), variances.double().sqrt()).log_prob(rows.targets.double())
        scores[rate, decay] = float((each.logsumexp(0) - math.log(2)).mean())
    best = max(scores, key=lambda setting: scores[setting])
    found = fitted.diagnostics
    assert (found["chosen_learning_rate"], found["chosen_weight_decay"]) == best
    assert found["chosen_log_likelihood"] == pytest.approx(scores[best], rel=1e-6)


def test_a_setting_that_diverges_is_not_chosen():
    with_one = CiberByGrid(SHORT, samples=2, learning_rates=(1e12, 1e-3), weight_decays=(0.0,))
    fitted = with_one.fit(regression(), stream(3))
    assert fitted.diagnostics["chosen_learning_rate"] == 1e-3
    with pytest.raises(InferenceDiverged, match="each of 1 descents"):
        replace(with_one, learning_rates=(1e12,)).fit(regression(), stream(3))


def test_other_boxes_and_floors_share_a_grid():
    method = CiberByGrid(SHORT, samples=2)
    other = replace(method, epsilons=(0.0,), bounds="minmax", ratio=2.0)
    inputs = regression(9).train.inputs
    shared = other.from_fit(method.fit(regression(), stream(3))).predict(inputs, stream(1))
    own = other.fit(regression(), stream(3)).predict(inputs, stream(1))
    assert torch.equal(
        shared.cdf(torch.zeros(len(inputs), 1)), own.cdf(torch.zeros(len(inputs), 1))
    )


def test_what_a_grid_needs():
    with pytest.raises(ValueError, match="at least one learning rate"):
        CiberByGrid(SHORT, learning_rates=())
    with pytest.raises(Unsupported, match="use Ciber"):
        CiberByGrid(SHORT, samples=2).fit(classification(), stream(1))
