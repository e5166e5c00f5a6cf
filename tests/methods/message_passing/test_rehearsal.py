"""A few visits that predict the cost of a long fit: arithmetic, time and memory."""

import time
from dataclasses import replace

import pytest
import torch

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.base import Problem
from bnnbench.methods.message_passing import rehearsal
from bnnbench.methods.message_passing.captured import CapturedRounds
from bnnbench.methods.message_passing.informed import InformedPrior
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.priors import SpectralPrior
from bnnbench.methods.message_passing.rehearsal import rehearse, steps
from bnnbench.methods.message_passing.schedule import Coupled, Sequential
from bnnbench.methods.message_passing.straight import StraightVisits
from bnnbench.methods.message_passing.trainer import Trainer
from bnnbench.methods.networks.architectures import LeakyReLU, Linear
from tests.methods.problems import stream

METHOD = MessagePassing((1, 1, 2), 8, Coupled(4, solver_iterations=2), backend="fused")


@pytest.fixture
def problem() -> Problem:
    """24 rows of three linearly separable classes."""
    inputs = torch.randn(24, 5, generator=stream(0), dtype=torch.float64)
    network = (Linear(8), LeakyReLU(0.1), Linear(3))
    return Problem(Split(inputs, inputs[:, :3].argmax(1)), Categorical(3), network)


@pytest.mark.parametrize("schedule", [Coupled(4), Coupled(5), Coupled(8), Sequential()])
@pytest.mark.parametrize("rows", [8, 19, 24])
def test_steps_are_the_groups_of_all_rounds(schedule, rows):
    places = torch.arange(rows)
    groups = [g for batch in places.split(8) for g in batch.split(schedule.size)]
    assert steps(replace(METHOD, schedule=schedule), rows) == len(groups) * (1 + 1 + 2)


def test_a_step_takes_what_its_visits_take(problem, monkeypatch):
    visit = Trainer.visit

    def slow(self, batch, order, rounds, step):
        visit(self, batch, order, rounds, step)
        time.sleep(0.1 * rounds)  # a round has two steps

    monkeypatch.setattr(Trainer, "visit", slow)
    found = rehearse(METHOD, problem)
    assert found.steps == 4 * 3 * 2
    assert 0.05 <= found.step_seconds < 0.5
    assert found.minutes == pytest.approx(found.steps * found.step_seconds / 60)
    assert found.difference is None
    assert found.device_bytes == 0


def test_messages_of_batches_that_are_not_visited_are_counted(problem):
    whole = replace(problem, train=problem.train.rows(torch.arange(24).repeat(3)))
    few, many = (rehearse(METHOD, each).peak_bytes for each in (problem, whole))
    fit = METHOD._trainer([whole], [stream(0)], SpectralPrior())
    fit.epoch(1, 1, [stream(0)])
    assert len(fit.stored.aggregates) == 9
    stored = [
        t.numel() * t.element_size()
        for aggregate in fit.stored.aggregates
        for layer in aggregate or ()
        for part in layer.parts()
        for t in (part.tau, part.rho)
    ]
    # Two of nine batches are visited; of three, all if the last is smaller, else two.
    assert (many, few) == (sum(stored) * 7 / 9, sum(stored) / 9)
    assert rehearse(replace(METHOD, on_host=True), whole).peak_bytes == 0


@pytest.fixture
def replayed(capture, monkeypatch):
    """Replace a GPU's graphs by a recorder on the CPU, for a few visits."""
    monkeypatch.setattr(rehearsal, "COMPARED", (1, 1, 3, 3))
    monkeypatch.setattr(rehearsal, "TIMED", (3,))
    begin = StraightVisits.__init__

    def begun(self, network, head, prior, watch):
        begin(self, network, head, prior, watch)
        self._captured = CapturedRounds(network, head, capture[0])

    monkeypatch.setattr(StraightVisits, "__init__", begun)
    return capture[1]


def test_replayed_rounds_are_compared_with_passed_ones(problem, replayed):
    assert rehearse(METHOD, problem).difference == 0
    assert replayed


def test_a_wrong_replay_is_seen(problem, replayed, monkeypatch):
    round_ = CapturedRounds.rounds

    def stale(self, cavity, inputs, *rest):
        return round_(self, cavity, inputs.flip(1), *rest)

    monkeypatch.setattr(CapturedRounds, "rounds", stale)
    found = rehearse(METHOD, problem).difference
    assert found is not None
    assert found > 1e-5


def test_numbers_that_are_not_finite_are_a_difference(problem, replayed, monkeypatch):
    monkeypatch.setattr(rehearsal, "numbers_of", lambda weights: [torch.full((1,), torch.nan)])
    assert rehearse(METHOD, problem).difference == torch.inf


def test_means_of_another_fit_are_refused(problem):
    with pytest.raises(ValueError, match="InformedPrior"):
        rehearse(replace(METHOD, prior=InformedPrior()), problem)
