"""The cost of an example in message passing, relative to AdamW's step on the same network."""

import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median

import pytest
import torch

from bnnbench.datasets.base import Categorical, Split
from bnnbench.engine.run.measuring import memory
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import Problem
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.network import MessageAccuracy
from bnnbench.methods.message_passing.priors import SpectralPrior
from bnnbench.methods.message_passing.schedule import Coupled, GroupSequential, Schedule, Sequential
from bnnbench.methods.networks.catalogue import cnn_000
from tests.methods.message_passing.peaks import growth
from tests.methods.problems import stream

BATCH = 128
NETWORKS = {"narrow": cnn_000((8, 8, 16, 16), 64), "full": cnn_000()}
WORDS = {"narrow": "cnn_000((8, 8, 16, 16), 64)", "full": "cnn_000()"}
BATCHES, REPEATS = {"narrow": 2, "full": 1}, 5
SCHEDULES: dict[str, Schedule] = {
    "single": Sequential(),
    "groups of 4": GroupSequential(4),
    "groups of 8": GroupSequential(8),
    "coupled 16": Coupled(16),
    "coupled 32": Coupled(32),
    "coupled 64": Coupled(64),
}
ACCURACIES = {
    "zeroth": MessageAccuracy("zeroth", "row"),
    "first": MessageAccuracy("first", "row"),
    "exact": MessageAccuracy("exact"),
    "by_fan_in": MessageAccuracy(),
}
ROWS = [
    *(("narrow", order, schedule) for order in ACCURACIES for schedule in SCHEDULES),
    *(("full", order, schedule) for order in ("zeroth", "by_fan_in") for schedule in SCHEDULES),
]


def problem(network: str) -> Problem:
    """Return images of noise of CIFAR-10's size: the cost does not depend on them."""
    rng, count = stream(0), BATCH * BATCHES[network]
    inputs = torch.randn(count, 3, 32, 32, generator=rng)
    targets = torch.randint(10, (count,), generator=rng)
    return Problem(Split(inputs, targets), Categorical(10), NETWORKS[network])


@pytest.mark.parametrize(("network", "order", "schedule"), ROWS)
def test_an_epoch_beside_one_of_adamw(network, order, schedule, benchmark):
    """The targets: 5 times AdamW for a plain group to zeroth order, 7 for a coupled one.

    In batches of 128, in an epoch's first round of messages and in later ones, with memory kept as
    workers keep it. AdamW and message passing take turns, so that other load on the machine affects
    both; ratios are of medians. Peaks of memory are those of visits of two rounds, in fresh
    processes.
    """
    memory.keep_freed()
    images, accuracy = problem(network), ACCURACIES[order]
    method = MessagePassing((1,), BATCH, SCHEDULES[schedule], accuracy)
    trainer = method._trainer([images], [stream(0)], SpectralPrior())
    places, examples = torch.arange(BATCH)[None], len(images.train.inputs)
    adamw = AdamW(epochs=4)

    def visits(rounds: int) -> Callable[[], None]:
        def work() -> None:
            with torch.no_grad():
                for batch in range(len(trainer.batches)):
                    trainer.visit(batch, places, rounds, 1.0)

        return work

    works = (lambda: adamw.fit(images, stream(0)), visits(1), visits(3))
    for work in works:  # one-time allocations of libraries
        work()
    times = [[seconds(work) for work in works] for _ in range(REPEATS)]
    step, once, thrice = (median(each) for each in zip(*times, strict=True))
    step /= adamw.epochs
    assert not trainer.lost.any(), "members that are lost cost nothing"
    benchmark.pedantic(visits(1), rounds=1)
    peak = growth(repr(replace(method, iterations=(2,))), WORDS[network])
    peak_of_adamw = growth("AdamW(epochs=2)", WORDS[network])
    benchmark.extra_info |= {
        "microseconds_per_example_first_round": 1e6 * once / examples,
        "microseconds_per_example_later_rounds": 1e6 * (thrice - once) / 2 / examples,
        "microseconds_per_example_of_adamw": 1e6 * step / examples,
        "guard_events": int(trainer.tally.guard_events),
        "ratio_first_round": once / step,
        "ratio_later_rounds": (thrice - once) / 2 / step,
        "peak_bytes": peak,
        "peak_bytes_of_adamw": peak_of_adamw,
        "memory_ratio": peak / peak_of_adamw,
    }


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of a run."""
    start = time.process_time()
    work()
    return time.process_time() - start
