"""Launches of a group step, counted on a processor with a GPU's paths and layouts."""

import pytest
import torch

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.base import Problem
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.schedule import Coupled
from bnnbench.methods.networks.catalogue import cnn_000
from tests.methods.message_passing.launches import (
    CountedFusedKernels,
    CountedKernels,
    Launches,
    as_on_a_gpu,
    trainer_of,
)
from tests.methods.problems import stream

pytestmark = pytest.mark.long


BATCH, GROUP, ROUNDS = 128, 32, 2
STEPS = BATCH // GROUP * ROUNDS
MOST = {"compiled": 930, "fused": 359}
"""Launches of a step; five of them copy the rows that the first coupled update multiplies."""
MOST_COUPLED = {"compiled": 600, "fused": 220}
KERNELS = {"compiled": CountedKernels, "fused": CountedFusedKernels}


def images() -> Problem:
    """Return a batch of noise: launches depend only on shapes."""
    rng = stream(0)
    inputs = torch.randn(BATCH, 3, 32, 32, generator=rng)
    targets = torch.randint(10, (BATCH,), generator=rng)
    return Problem(Split(inputs, targets), Categorical(10), cnn_000())


@pytest.mark.parametrize("backend", ["compiled", "fused"])
@torch.no_grad()
def test_a_step_of_the_papers_network_launches_no_more_than_it_needs(backend, monkeypatch):
    counts = Launches()
    as_on_a_gpu(monkeypatch, counts)
    method = MessagePassing((ROUNDS,), BATCH, Coupled(GROUP))
    trainer = trainer_of(method, images(), KERNELS[backend](counts), monkeypatch)
    places = torch.arange(BATCH)[None]
    trainer.visit(0, places, 1, 1.0)  # a first visit divides nothing out of the marginals
    counts.clear()
    with counts:
        trainer.visit(0, places, ROUNDS, 0.97)
    assert not trainer.retries.lost.any()
    assert not trainer.tally.guard_events.any()
    table = counts.table(STEPS)
    assert counts.total() <= MOST[backend] * STEPS, table
    assert counts.total("coupled update") <= MOST_COUPLED[backend] * STEPS, table
