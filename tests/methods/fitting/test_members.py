"""Fits side by side in threads."""

import threading
import time
from dataclasses import dataclass

import pytest
import torch

from bnnbench.methods.base import InferenceDiverged
from bnnbench.methods.fitting import progress
from bnnbench.methods.fitting.members import in_threads
from tests.methods.problems import regression, streams

PROBLEMS = [regression(seed) for seed in range(4)]


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@dataclass(frozen=True)
class Number:
    """A posterior that consists of a number drawn from the stream of its fit."""

    drawn: int

    @property
    def diagnostics(self):
        return {}

    def predict(self, inputs, rng):
        raise NotImplementedError


def numbered(problem, rng):
    return Number(int(torch.randint(10**6, (1,), generator=rng)))


def test_each_problem_meets_its_own_stream_in_order(two_threads):
    together = in_threads(numbered, PROBLEMS, streams(3, 1, 4, 1))
    alone = [in_threads(numbered, PROBLEMS[:1], [rng])[0] for rng in streams(3, 1, 4, 1)]
    assert together == alone


def test_two_fits_run_at_a_time(two_threads):
    meeting = threading.Barrier(2, timeout=20)

    def fit(problem, rng):
        meeting.wait()
        return numbered(problem, rng)

    assert len(in_threads(fit, PROBLEMS, streams(*range(4)))) == 4


def test_only_the_one_that_diverges_fails():
    def fit(problem, rng):
        if problem is PROBLEMS[2]:
            raise InferenceDiverged("told to")
        return numbered(problem, rng)

    outcomes = in_threads(fit, PROBLEMS, streams(*range(4)))
    assert [isinstance(outcome, InferenceDiverged) for outcome in outcomes] == [0, 0, 1, 0]


def test_another_error_ends_the_fits_that_run(two_threads):
    started, ended = threading.Event(), threading.Event()

    def fit(problem, rng):
        if problem is PROBLEMS[0]:
            assert started.wait(20)
            raise ZeroDivisionError
        started.set()
        try:
            while True:
                progress.report(1, 2, 0.0)
                time.sleep(0.01)
        finally:
            ended.set()

    with pytest.raises(ZeroDivisionError):
        in_threads(fit, PROBLEMS[:2], streams(0, 1))
    assert ended.wait(20)


def test_the_listener_hears_of_finished_fits_and_their_losses():
    def fit(problem, rng):
        progress.report(1, 1, 0.25)
        return numbered(problem, rng)

    heard = []
    with progress.listening(lambda *report: heard.append(report)):
        in_threads(fit, PROBLEMS, streams(*range(4)))
    assert heard == [(done, 4, 0.25) for done in (1, 2, 3, 4)]


def test_a_single_fit_is_heard_epoch_by_epoch():
    def fit(problem, rng):
        for epoch in (1, 2):
            progress.report(epoch, 2, 0.5)
        return numbered(problem, rng)

    heard = []
    with progress.listening(lambda *report: heard.append(report)):
        in_threads(fit, PROBLEMS[:1], streams(0))
    assert heard == [(1, 2, 0.5), (2, 2, 0.5)]
