"""Visits that go wrong although their messages are sound."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from bnnbench.methods.base import InferenceDiverged
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.guard import is_hopeless
from bnnbench.methods.message_passing.heads import Regression
from bnnbench.methods.message_passing.kernels import reference
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.schedule import Coupled, GroupSequential, Schedule, Sequential
from bnnbench.methods.message_passing.trainer import Attempt, Trainer
from tests.methods.message_passing.test_learning import MLP, splits
from tests.methods.problems import stream

METHOD = MessagePassing(batch_size=64, schedule=Coupled(16))
ORDER = torch.arange(64)[None]


def trained(seeds: tuple[int, ...] = (0,)) -> Trainer:
    """Return members that have read 128 digits twice."""
    rngs = [stream(seed) for seed in seeds]
    trainer = METHOD._trainer([splits(MLP, 128)[0] for _ in seeds], rngs, METHOD.prior)
    with torch.no_grad():
        for epoch in (1, 2):
            trainer.epoch(epoch, 1, rngs)
    return trainer


def spoil(monkeypatch, member: int, when: Callable[[Schedule], bool]) -> list[Schedule]:
    """Let a member's visits end with opposite weights, and return the schedules that are tried."""
    attempt, tried = Trainer._attempt, []

    def spoiled(self, cavity, index, batch, order, iterations, schedule) -> Attempt:
        found = attempt(self, cavity, index, batch, order, iterations, schedule)
        tried.append(schedule)
        if when(schedule):
            rows = index == member
            last = self.network.weighted[-1].marginal.weight
            last.tau[rows] *= -1
            rest = cavity[-1].weight.tau
            found.aggregates[-1].weight.tau[rows] = (last.tau - rest)[rows]
        return found

    monkeypatch.setattr(Trainer, "_attempt", spoiled)
    return tried


def numbers(trainer: Trainer, member: int) -> list[torch.Tensor]:
    """Return the natural parameters of a member's marginals and aggregates."""
    layers = [*trainer.marginal, *(own for kept in trainer.aggregates for own in kept or ())]
    return [x[member] for own in layers for part in own.parts() for x in (part.tau, part.rho)]


def equal(some: list[torch.Tensor], others: list[torch.Tensor]) -> bool:
    return all(torch.equal(*pair) for pair in zip(some, others, strict=True))


@torch.no_grad()
def test_a_visit_that_predicts_worse_is_repeated_in_smaller_groups(monkeypatch):
    smaller = trained()
    smaller.schedule = Coupled(8)
    smaller.visit(0, ORDER, 2, 1.0)
    trainer = trained()
    tried = spoil(monkeypatch, 0, lambda schedule: schedule.size > 8)
    trainer.visit(0, ORDER, 2, 1.0)
    assert tried == [Coupled(16), Coupled(8)]
    assert trainer.tally.guard_events.tolist() == [1]
    assert equal(numbers(trainer, 0), numbers(smaller, 0))


@torch.no_grad()
def test_where_no_group_helps_a_batch_keeps_what_it_said(monkeypatch):
    trainer = trained()
    before = [x.clone() for x in numbers(trainer, 0)]
    tried = spoil(monkeypatch, 0, lambda schedule: True)
    trainer.visit(0, ORDER, 2, 1.0)
    assert tried == [Coupled(16), Coupled(8), Coupled(4)]
    assert not trainer.lost.any()
    for old, new in zip(before, numbers(trainer, 0), strict=True):
        torch.testing.assert_close(new, old, rtol=1e-4, atol=1e-4)  # divided out and put back
    trainer.visit(1, ORDER, 2, 1.0)
    assert tried[3:] == [Coupled(4)]  # where the epoch's later visits begin


@torch.no_grad()
@pytest.mark.parametrize("member", [0, 1])
def test_a_member_that_goes_wrong_leaves_its_company_alone(member, monkeypatch):
    other = 1 - member
    alone, calm = trained((other,)), trained((member,))
    calm.schedule = Coupled(8)
    for trainer in (alone, calm):
        trainer.visit(0, ORDER, 2, 1.0)
    together = trained((0, 1))
    spoil(monkeypatch, member, lambda schedule: schedule.size > 8)
    together.visit(0, ORDER.expand(2, -1), 2, 1.0)
    assert together.tally.guard_events.tolist() == [int(k == member) for k in range(2)]
    assert equal(numbers(together, other), numbers(alone, 0))
    assert equal(numbers(together, member), numbers(calm, 0))


@torch.no_grad()
def test_first_visits_single_rounds_and_the_published_schedule_are_not_watched(monkeypatch):
    spoil(monkeypatch, 0, lambda schedule: True)
    rngs = [stream(0)]
    fresh = METHOD._trainer([splits(MLP, 128)[0]], rngs, METHOD.prior)
    fresh.visit(0, ORDER, 2, 1.0)
    once = trained()
    once.visit(0, ORDER, 1, 1.0)
    published = trained()
    published.schedule = Sequential()
    published.visit(0, ORDER, 2, 1.0)
    for trainer in (fresh, once, published):
        assert trainer.tally.guard_events.tolist() == [0]


@pytest.mark.parametrize("schedule", [Coupled(64), Coupled(32, 1.0)])
def test_sound_fits_have_no_events(schedule):
    problem, _ = splits(MLP, 256)
    fit = MessagePassing(schedule=schedule, iterations=(1, 2, 3)).fit(problem, stream(0))
    assert fit.diagnostics["guard_events"] == 0


@pytest.mark.parametrize(
    ("before", "bearable", "too_much"),
    [(0.1, 0.19, 0.21), (2.0, 2.9, 3.1), (-1.0, -0.95, -0.85)],
)
def test_a_loss_may_rise_by_a_tenth_of_a_nat_or_by_half(before, bearable, too_much, monkeypatch):
    watch, everyone = trained((0, 1, 2)).watch, torch.arange(3)
    watch.expected = torch.full((3,), before, dtype=torch.float64)
    after = torch.tensor([bearable, too_much, torch.nan], dtype=torch.float64)
    monkeypatch.setattr(watch, "_loss", lambda index, noise: after[index])
    worse = watch.worse(everyone, None, torch.ones(3, dtype=torch.bool))
    assert worse.tolist() == [False, True, True]
    assert watch.expected.tolist() == [bearable, before, before]


def test_a_visit_whose_examples_are_predicted_absurdly_is_repeated_more_calmly():
    # Groups of 32 without coupling diverge in the first visit: 180 nats an example, then 4,000.
    problem, test = splits(MLP, 512)
    method = MessagePassing(schedule=GroupSequential(32), iterations=(1, 1, 1))
    fit = method.fit(problem, stream(0))
    assert fit.diagnostics["guard_events"] > 0
    log_loss = -fit.predict(test.inputs, stream(1)).log_prob(test.targets).mean()
    assert log_loss < 5


@torch.no_grad()
@pytest.mark.parametrize("wrong", [1e6, float("nan")])
def test_a_fit_that_predicts_absurdly_in_the_end_has_diverged(wrong, monkeypatch):
    epoch = Trainer.epoch

    def spoiled(self, *arguments) -> float:
        loss = epoch(self, *arguments)
        self.marginal[-1].bias.tau[1, 0] = wrong  # of one class of one member
        return loss

    monkeypatch.setattr(Trainer, "epoch", spoiled)
    problems = [splits(MLP, 128)[0] for _ in range(3)]
    method = replace(METHOD, iterations=(1, 2))
    fits = method.fit_many(problems, [stream(seed) for seed in range(3)])
    assert [isinstance(fit, InferenceDiverged) for fit in fits] == [False, True, False]


@pytest.mark.parametrize(
    ("error", "absurd"), [(0.0, False), (5.4, False), (5.6, True), (float("nan"), True)]
)
def test_regression_is_judged_by_errors_beside_those_of_predicting_0(error, absurd):
    targets = torch.tensor([[[1.0], [-1.0]]])
    for scale in (1.0, 1e6):
        head = Regression(torch.full((1, 1), 1e-12), None)
        head.open(scale * targets, None, reference)
        z = Gaussian.of(scale * (targets + error), torch.ones_like(targets))
        assert is_hopeless(head, z, torch.tensor([1e30])).tolist() == [absurd]
