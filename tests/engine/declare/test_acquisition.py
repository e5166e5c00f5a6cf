"""Active learning: the acquired rows, and how runs of several fits are carried out."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch

from bnnbench.datasets.cuts.pool import ActivePool
from bnnbench.datasets.errors import PoolTooSmall
from bnnbench.datasets.reading import tables
from bnnbench.datasets.stand_ins import DiabetesAsUci
from bnnbench.engine.declare.acquisition import RULES, Acquisition
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.streams import stream
from bnnbench.engine.run import acquiring
from bnnbench.methods.base import InferenceDiverged, Problem
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from tests.suites.fakes import Mean
from tests.suites.pools import ACTIVE, POOL, RANDOM, Far, outcomes, rows_of

SEEN: list[Problem] = []


@dataclass(frozen=True)
class Spy:
    """Records every problem that it receives."""

    def fit(self, problem, rng):
        SEEN.append(problem)
        return Far()


@pytest.fixture
def seen():
    SEEN.clear()
    return SEEN


def test_the_row_of_greatest_predictive_variance_is_acquired_each_time():
    (outcome,) = outcomes(Spy())
    features = rows_of(POOL.source.table(0))[0][:, 0]
    pool = sorted(POOL.partition(0).pool, key=lambda row: -features[row])
    assert outcome.record.outcome.acquired == tuple(pool[:3])


def test_a_batch_is_the_rows_of_greatest_score():
    (outcome,) = outcomes(Spy(), acquisition=Acquisition("variance", rounds=2, batch=4))
    features = rows_of(POOL.source.table(0))[0][:, 0]
    pool = sorted(POOL.partition(0).pool, key=lambda row: -features[row])
    assert outcome.record.outcome.acquired == tuple(pool[:8])


def test_pieces_of_the_pool_are_scored_as_the_whole(monkeypatch):
    def rows(pieces):
        monkeypatch.setattr(acquiring, "CANDIDATES_AT_ONCE", pieces)
        method = Mfvi(epochs=3, draws=4)
        (outcome,) = outcomes(method, case=Case(POOL, mlp([3], outputs=1)))
        return outcome.record.outcome.acquired

    assert rows(1000) == rows(7)


def test_random_acquisition_differs_by_fold_seed_and_round_and_comes_from_the_pool():
    chosen = [
        outcomes(Mean(), (fold,), acquisition=RANDOM, seed=seed)[0].record.outcome.acquired
        for fold, seed in ((0, 0), (0, 1), (1, 0))
    ]
    assert len(set(chosen)) == 3
    assert len(set(chosen[0])) == 3
    assert set(chosen[0]) <= set(POOL.partition(0).pool.tolist())
    assert outcomes(Spy(), acquisition=RANDOM)[0].record.outcome.acquired == chosen[0]


def test_a_method_sees_the_targets_of_labelled_rows_alone(seen):
    (outcome,) = outcomes(Spy())
    inputs, targets = rows_of(POOL.source.table(0))
    assert [len(problem.train) for problem in seen] == [8, 9, 10, 11]
    for problem, count in zip(seen, range(4), strict=True):
        labelled = [*POOL.partition(0).train, *outcome.record.outcome.acquired[:count]]
        mean, std = targets[labelled].mean(), targets[labelled].std()
        expected = torch.from_numpy((targets[labelled] - mean) / std)
        assert torch.allclose(problem.train.targets[:, 0].double(), expected, atol=1e-6)
        scaled = (inputs[labelled] - inputs[labelled].mean(0)) / inputs[labelled].std(0)
        assert torch.allclose(problem.train.inputs.double(), torch.from_numpy(scaled), atol=1e-6)


def test_a_run_equals_fitting_predicting_and_acquiring_by_hand():
    source = ActivePool(DiabetesAsUci(), train=10, test=30, repeats=3)
    method, network = Mfvi(epochs=4, draws=3, batch_size=4), mlp([4], outputs=1)
    found = outcomes(method, folds=(0, 1, 2), case=Case(source, network))
    inputs, targets = rows_of(DiabetesAsUci().table(0))
    for fold, outcome in enumerate(found):
        train, test, pool = source.partition(fold)
        labelled, pool = list(train), list(pool)
        for count in range(4):
            table = tables.split_table(inputs, targets, np.array(labelled), np.array(pool))
            data = tables.standardised(table, ("y", ""), "stand-in", "")
            problem = Problem(data.train, data.likelihood, network)
            rng = stream("fit", source, fold, 0, count)
            posterior = method.fit(problem, rng)
            mean, std = targets[labelled].mean(), targets[labelled].std()
            scaled = data.scaling.apply(torch.from_numpy(inputs[test])).float()
            rng = stream("predict", source, fold, 0, f"acquired_{count}")
            predicted = mean + std * posterior.predict(scaled, rng).mean[:, 0].numpy()
            error = float(np.sqrt(np.mean((predicted - targets[test]) ** 2)))
            scores = outcome.record.outcome.scores[f"acquired_{count}"]
            assert scores["rmse"] == pytest.approx(error, rel=1e-5)
            if count < 3:
                rng = stream("candidates", source, fold, 0, count)
                variance = posterior.predict(data.test.inputs, rng).variance[:, 0]
                row = pool.pop(int(variance.argmax()))
                assert outcome.record.outcome.acquired[count] == row
                labelled.append(row)


def test_arms_share_the_partition_and_everything_before_the_first_acquisition():
    method, network = Mfvi(epochs=3, draws=4), mlp([3], outputs=1)
    active, random = (
        outcomes(method, folds=(0, 1), case=Case(POOL, network), acquisition=arm)
        for arm in (ACTIVE, RANDOM)
    )
    for one, other in zip(active, random, strict=True):
        assert (
            one.record.circumstances.facts["sha256"] == other.record.circumstances.facts["sha256"]
        )
        assert one.record.outcome.scores["acquired_0"] == other.record.outcome.scores["acquired_0"]
        assert one.record.outcome.acquired != other.record.outcome.acquired
        assert one.record.outcome.scores["acquired_3"] != other.record.outcome.scores["acquired_3"]


def test_repeats_fitted_together_equal_repeats_fitted_separately():
    network = mlp([3], outputs=1)
    method = Ensemble(size=2)
    together = outcomes(method, folds=(0, 1, 2), case=Case(POOL, network))
    for fold, outcome in enumerate(together):
        (alone,) = outcomes(method, folds=(fold,), case=Case(POOL, network))
        assert alone.record.outcome.scores == outcome.record.outcome.scores
        assert alone.predictions == outcome.predictions


@dataclass(frozen=True)
class Fragile:
    """Diverges at the tenth row, if the first target is negative."""

    def fit(self, problem, rng):
        (posterior,) = self.fit_many([problem], [rng])
        if isinstance(posterior, Exception):
            raise posterior
        return posterior

    def fit_many(self, problems, rngs):
        return [
            InferenceDiverged("too many rows")
            if len(problem.train) == 10 and problem.train.targets[0, 0] < 0
            else Far()
            for problem in problems
        ]


def test_a_repeat_that_diverges_ends_alone():
    negative = [bool(POOL.load(fold).train.targets[0, 0] < 0) for fold in range(4)]
    assert 0 < sum(negative) < 4
    found = outcomes(Fragile(), folds=range(4))
    statuses = [outcome.record.outcome.status for outcome in found]
    assert statuses == ["diverged" if bad else "completed" for bad in negative]
    for outcome, bad in zip(found, negative, strict=True):
        assert len(outcome.record.outcome.acquired) == (2 if bad else 3)
        assert (outcome.predictions is None) == bad
        assert set(outcome.record.outcome.scores) == (
            set() if bad else {f"acquired_{count}" for count in range(4)}
        )


@dataclass(frozen=True)
class Nowhere:
    """Predicts NaN for more points than the test part has."""

    diagnostics: ClassVar = {}

    def fit(self, problem, rng):
        return self

    def predict(self, inputs, rng):
        value = torch.nan if len(inputs) > 12 else 0.0
        means = torch.full((1, len(inputs), 1), value)
        return GaussianPredictive(means, torch.ones_like(means))


def test_nan_among_the_candidates_is_a_divergence():
    (outcome,) = outcomes(Nowhere())
    assert outcome.record.outcome.status == "diverged"
    assert "rows of the pool" in outcome.record.outcome.error


def test_a_pool_that_is_too_small_stops_the_suite_with_the_cure():
    with pytest.raises(PoolTooSmall, match=r"line has 0 rows left .* fewer rounds or smaller"):
        outcomes(Spy(), acquisition=Acquisition("variance", rounds=5, batch=10))


def test_mutual_information_and_entropy_of_two_draws_by_hand():
    # Draws that agree on certainty, disagree about certainty, and agree on even odds.
    draws = torch.tensor(
        [[[0.9, 0.1], [1.0, 0.0], [0.5, 0.5]], [[0.9, 0.1], [0.0, 1.0], [0.5, 0.5]]]
    )
    prediction = CategoricalPredictive(draws.double().log())
    coin, certain = math.log(2), -0.9 * math.log(0.9) - 0.1 * math.log(0.1)
    assert RULES["bald"](prediction).tolist() == pytest.approx([0.0, coin, 0.0], abs=1e-12)
    assert RULES["entropy"](prediction).tolist() == pytest.approx([certain, coin, coin])


def test_the_variance_agrees_with_the_mixture_summed_over_outputs():
    means = torch.tensor([[[0.0, 1.0]], [[2.0, 1.0]]])
    variances = torch.tensor([[[1.0, 2.0]], [[3.0, 4.0]]])
    # Output 1: mean variance 2, variance of means 1; output 2: 3 and 0.
    assert RULES["variance"](GaussianPredictive(means, variances)).tolist() == [6.0]


def test_a_rule_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="did you mean 'variance'"):
        Acquisition("varience")
    with pytest.raises(ValueError, match="at least 1"):
        Acquisition("random", rounds=0)


@dataclass(frozen=True)
class Copies:
    """Equal draws of class probabilities: the inputs are logits."""

    draws: int
    rounding: float = 0.0
    diagnostics: ClassVar[dict] = {}

    def predict(self, inputs, rng):
        noise = self.rounding * torch.randn(self.draws, *inputs.shape, generator=rng)
        return CategoricalPredictive((inputs + noise).log_softmax(-1))


def logits_of(values):
    """Return a function from rows to their inputs, which are the logits."""
    return lambda rows: values[torch.from_numpy(np.asarray(rows))]


@pytest.mark.parametrize("posterior", [Copies(1), Copies(3), Copies(5, rounding=1e-7)])
def test_the_first_row_of_the_order_is_acquired_where_all_draws_agree(posterior, monkeypatch):
    monkeypatch.setattr(acquiring, "stream", lambda *_, device: torch.Generator(device))
    for seed in range(20):
        logits = 3 * torch.randn(100, 10, generator=torch.Generator().manual_seed(seed))
        rows = np.random.default_rng(seed).permutation(100)
        given = logits_of(logits), rows, posterior, (POOL, 0, seed, 0), torch.device("cpu")
        assert acquiring.acquire(Acquisition("bald", batch=2), *given) == tuple(rows[:2])


def test_equal_entropies_are_acquired_in_the_order_of_the_rows(monkeypatch):
    monkeypatch.setattr(acquiring, "stream", lambda *_, device: torch.Generator(device))
    row = torch.randn(10, generator=torch.Generator().manual_seed(0))
    orders = [torch.randperm(10, generator=torch.Generator().manual_seed(k)) for k in range(60)]
    pool = logits_of(torch.stack([row[order] for order in orders]))
    rows = np.random.default_rng(0).permutation(60)
    given = pool, rows, Copies(1), (POOL, 0, 0, 0), torch.device("cpu")
    assert acquiring.acquire(Acquisition("entropy", batch=5), *given) == tuple(rows[:5])


def test_scores_keep_their_order_down_to_rounding():
    scores = torch.tensor([1.0, 1.0 + 1e-8, 0.0, 3e-10, torch.inf, 0.5, -torch.inf]).double()
    rounded = acquiring.without_rounding(scores)
    assert torch.equal(rounded.argsort(stable=True), scores.argsort(stable=True))
    assert not acquiring.without_rounding(torch.zeros(3).double()).any()
