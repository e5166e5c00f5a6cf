"""Threads for compiled fits that release Python's lock, one problem each."""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from contextvars import copy_context
from threading import Event

import torch

from bnnbench.methods.base import InferenceDiverged, Posterior, Problem
from bnnbench.methods.checkpoints import checkpoint
from bnnbench.methods.fitting import progress

FitOne = Callable[[Problem, torch.Generator], Posterior]


def in_threads(
    fit: FitOne, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
) -> list[Posterior | InferenceDiverged]:
    """Return `fit` of each problem, `torch.get_num_threads()` of them at a time.

    A fit that raises `InferenceDiverged` does not affect the others. Any other exception,
    including Ctrl-C, ends the running fits when they next report progress.
    """
    if len(problems) == 1:
        return [_outcome(fit, problems[0], rngs[0])]
    stop, losses = Event(), [float("nan")] * len(problems)

    scopes = checkpoint.scopes(len(problems))

    def member(index: int) -> Posterior | InferenceDiverged:
        def listen(epochs_done: int, total: int, loss: float) -> None:
            if stop.is_set():
                raise CancelledError
            losses[index] = loss

        with progress.listening(listen), scopes[index]():
            return _outcome(fit, problems[index], rngs[index])

    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        futures = {
            pool.submit(copy_context().run, member, index): index for index in range(len(problems))
        }
        try:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                progress.report(done, len(futures), losses[futures[future]])
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in futures]


def _outcome(fit: FitOne, problem: Problem, rng: torch.Generator) -> Posterior | InferenceDiverged:
    try:
        return fit(problem, rng)
    except InferenceDiverged as failure:
        return failure
