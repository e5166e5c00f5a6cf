"""Restarts whose predictions are weighted on held-out rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch

from bnnbench.methods.approximation_levels.restarts import SLOTS, Restarts, shared_out
from bnnbench.methods.base import InferenceDiverged
from bnnbench.methods.predictions.predictive import GaussianPredictive
from tests.methods.problems import regression, stream


@dataclass(frozen=True)
class Constant:
    """Predicts a number drawn from its stream, with variance 1."""

    value: float
    rows: int
    diagnostics: ClassVar[Mapping[str, float]] = {}

    def predict(self, inputs, rng):
        mean = torch.full((1, len(inputs), 1), self.value, dtype=torch.float64)
        return GaussianPredictive(mean, torch.ones_like(mean))


@dataclass(frozen=True)
class Draws:
    """Fits a constant, or fails if the constant is below `least`."""

    least: float = -100.0

    def fit(self, problem, rng):
        value = float(torch.randn((), generator=rng))
        if value < self.least:
            raise InferenceDiverged("too small")
        return Constant(value, len(problem.train))


PROBLEM = regression()


def test_slots_are_proportional_and_none_is_lost():
    assert shared_out(torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64), 8) == (4, 2, 2)
    assert shared_out(torch.tensor([0.46, 0.39, 0.15], dtype=torch.float64), 10) == (5, 4, 1)
    assert sum(shared_out(torch.rand(7).double().softmax(0), SLOTS)) == SLOTS


def test_members_see_four_fifths_and_weights_are_their_likelihoods_of_the_rest():
    posterior = Restarts("held_out", 4, member=Draws()).fit(PROBLEM, stream(3))
    rows = len(PROBLEM.train)
    members = [member for member in posterior.members if isinstance(member, Constant)]
    assert len(members) == 4
    assert {member.rows for member in members} == {rows - round(0.2 * rows)}
    order = torch.randperm(rows, generator=stream(3))
    held = PROBLEM.train.targets[order[: round(0.2 * rows)]].double()
    values = torch.tensor([member.value for member in members], dtype=torch.float64)
    logs = -(held - values).square().sum(0) / 2
    expected = (logs - logs.max()).exp()
    slots = torch.tensor(posterior.slots) / SLOTS
    torch.testing.assert_close(slots.double(), expected / expected.sum(), rtol=0, atol=1 / SLOTS)
    prediction = posterior.predict(PROBLEM.train.inputs[:2], stream(0))
    assert isinstance(prediction, GaussianPredictive)
    assert float(prediction.mean[0]) == pytest.approx(float(slots @ values.float()), abs=1e-5)


def test_equal_weights_share_the_fits():
    weighted = Restarts("held_out", 3, member=Draws()).fit(PROBLEM, stream(3))
    equal = Restarts("equal", 3, member=Draws())
    assert equal.from_fit(weighted).slots == (SLOTS // 3,) * 3
    assert equal.from_fit(weighted).members == equal.fit(PROBLEM, stream(3)).members


def test_restarts_that_diverge_are_left_out_unless_all_do():
    some = Restarts("equal", 6, member=Draws(0.0)).fit(PROBLEM, stream(3))
    assert 0 < len(some.members) < 6
    assert sum(some.slots) == SLOTS
    with pytest.raises(InferenceDiverged, match="all 2 restarts"):
        Restarts("equal", 2, member=Draws(50.0)).fit(PROBLEM, stream(3))
