"""Launches of a group step, counted on a processor with a GPU's paths and layouts."""

import torch

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.base import Problem
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.schedule import Coupled
from bnnbench.methods.networks.catalogue import cnn_000
from tests.methods.message_passing.launches import CountedKernels, Launches, as_on_a_gpu, trainer_of
from tests.methods.problems import stream

BATCH, GROUP, ROUNDS = 128, 32, 2
STEPS = BATCH // GROUP * ROUNDS
MOST = 957
"""Launches of a step: 792.5 of the library and 164.5 own."""
MOST_COUPLED = 600


def images() -> Problem:
    """Return a batch of noise: launches depend on shapes alone."""
    rng = stream(0)
    inputs = torch.randn(BATCH, 3, 32, 32, generator=rng)
    targets = torch.randint(10, (BATCH,), generator=rng)
    return Problem(Split(inputs, targets), Categorical(10), cnn_000())


@torch.no_grad()
def test_a_step_of_the_papers_network_launches_no_more_than_it_needs(monkeypatch):
    counts = Launches()
    as_on_a_gpu(monkeypatch, counts)
    method = MessagePassing((ROUNDS,), BATCH, Coupled(GROUP))
    trainer = trainer_of(method, images(), CountedKernels(counts), monkeypatch)
    places = torch.arange(BATCH)[None]
    trainer.visit(0, places, ROUNDS, 1.0)  # a first visit takes nothing out of the marginals
    counts.clear()
    with counts:
        trainer.visit(0, places, ROUNDS, 0.97)
    assert not trainer.lost.any()
    assert not trainer.tally.guard_events.any()
    table = counts.table(STEPS)
    assert counts.total() <= MOST * STEPS, table
    assert counts.total("coupled update") <= MOST_COUPLED * STEPS, table
