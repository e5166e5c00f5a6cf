"""Problems whose fits are compiled and free of Python's lock, side by side in threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
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

    One that raises `InferenceDiverged` fails alone. Any other exception, Ctrl-C too, ends the
    fits that run as soon as they report progress.
    """
    if len(problems) == 1:
        return [_outcome(fit, problems[0], rngs[0])]
    stop, losses = Event(), [float("nan")] * len(problems)

    scopes = checkpoint.scopes(len(problems))

    def member(place: int) -> Posterior | InferenceDiverged:
        def listen(done: int, total: int, loss: float) -> None:
            if stop.is_set():
                raise CancelledError
            losses[place] = loss

        with progress.listening(listen), scopes[place]():
            return _outcome(fit, problems[place], rngs[place])

    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        futures = {pool.submit(member, place): place for place in range(len(problems))}
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
