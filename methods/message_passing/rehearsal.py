"""A few visits on this machine, from which a whole fit's time and memory are estimated.

Steps are assumed to cost the same in every epoch: groups of one size have the same form. The
memory is the peak of these visits plus the aggregates of all batches, which a fit holds.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

import torch

from bnnbench.methods.base import Problem
from bnnbench.methods.fitting.rehearsal import Rehearsal
from bnnbench.methods.fitting.tf32 import without_tf32
from bnnbench.methods.message_passing.informed import InformedPrior
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.state import numbers_of
from bnnbench.methods.message_passing.trainer import Trainer

FULL_BATCHES = 2
"""Number of full-size batches visited, besides the last one, which may be smaller."""
COMPARED = (1, 1, 2, 2, 3, 3, 4)
"""Rounds of each batch's visits that are run both with and without replay, for comparison."""
TIMED = (2, 3)
"""Rounds of each batch's visits that are timed."""
STEP = 0.95


def steps(method: MessagePassing, rows: int) -> int:
    """Return the number of group steps in a fit to this number of rows without repeated visits."""
    full, rest = divmod(rows, method.batch_size)
    group = method.schedule.size
    groups = full * -(-method.batch_size // group) + -(-rest // group)
    return sum(method.iterations) * groups


@torch.no_grad()
@without_tf32()
def rehearse(method: MessagePassing, problem: Problem, seed: int = 0) -> Rehearsal:
    """Return the cost of a step, measured on a few batches, and the estimated cost of a fit.

    If rounds are replayed from graphs, each visit also runs without replay. Raises ValueError for
    informed means, because such a fit begins with another method's fit.
    """
    if isinstance(method.prior, InformedPrior):
        raise ValueError("rehearse needs a prior without a fit of its own; got InformedPrior")
    rows, batch = len(problem.train), method.batch_size
    few = min(rows, FULL_BATCHES * batch + rows % batch)
    short = replace(problem, train=problem.train.rows(slice(few)))
    trainer = _begun(method, short, seed)
    difference = None
    if trainer.straight and trainer.straight._captured:
        difference = _difference(trainer, _begun(method, short, seed))
    else:
        _visit(trainer, TIMED[:1])  # kernels are now compiled and first visits done
    cuda = trainer.inputs.is_cuda
    if cuda:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    start = _now(cuda)
    done = _visit(trainer, TIMED)
    seconds = _now(cuda) - start
    peak = float(torch.cuda.max_memory_allocated()) if cuda else 0.0
    more = -(-rows // batch) - len(trainer.batches)
    peak += 0.0 if method.on_host else more * _bytes_of_an_aggregate(trainer)
    return Rehearsal(
        seconds / done,
        steps(method, rows),
        peak,
        float(torch.cuda.mem_get_info()[1]) if cuda else 0.0,
        difference,
    )


def _begun(method: MessagePassing, problem: Problem, seed: int) -> Trainer:
    rng = torch.Generator(problem.train.inputs.device).manual_seed(seed)
    return method._trainer([problem], [rng], method.prior)  # pyright: ignore[reportArgumentType]


def _difference(replayed: Trainer, passed: Trainer) -> float:
    """Return the largest relative difference of marginals after any visit."""
    assert passed.straight
    passed.straight._captured = None
    largest = 0.0
    for rounds in COMPARED:
        for trainer in (replayed, passed):
            _visit(trainer, (rounds,))
        pairs = zip(
            numbers_of(replayed.stored.marginal), numbers_of(passed.stored.marginal), strict=True
        )
        difference = torch.stack([(a - b).abs().max() / b.abs().max() for a, b in pairs]).max()
        largest = max(largest, float(difference)) if bool(difference.isfinite()) else torch.inf
    return largest


def _visit(trainer: Trainer, rounds: Sequence[int]) -> int:
    """Visit every batch in each of these numbers of rounds, and return the count of steps.

    Steps of visits that a guard repeated are not counted, so their time is attributed to the
    others.
    """
    done = 0
    for count in rounds:
        for batch, rows in enumerate(trainer.batches):
            order = torch.arange(rows.shape[1], device=rows.device)[None]
            trainer.visit(batch, order, count, STEP)
            done += count * -(-rows.shape[1] // trainer.schedule.size)
    return done


def _bytes_of_an_aggregate(trainer: Trainer) -> int:
    aggregate = next(each for each in trainer.stored.aggregates if each is not None)
    return sum(t.numel() * t.element_size() for t in numbers_of(aggregate))


def _now(cuda: bool) -> float:
    if cuda:
        torch.cuda.synchronize()
    return time.perf_counter()
