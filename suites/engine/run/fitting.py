"""Runs are fitted, together where that pays, and given the rows that active learning chooses."""

from collections.abc import Sequence
from pathlib import Path

import torch

from bnnbench.datasets.base import PoolSource
from bnnbench.methods.base import BatchedMethod, Posterior, Problem
from bnnbench.methods.networks.own_network import own_network
from bnnbench.suites.engine.declare.acquisition import acquire, choices
from bnnbench.suites.engine.declare.grid import Run
from bnnbench.suites.engine.run import memory
from bnnbench.suites.engine.run.attempt import Attempt
from bnnbench.suites.engine.run.guard import unchanged
from bnnbench.suites.engine.run.packing import kept_of_earlier
from bnnbench.suites.engine.run.stopwatch import stopwatch
from bnnbench.suites.engine.run.streams import stream
from bnnbench.suites.engine.run.warming import warm_up
from bnnbench.suites.engine.store import checkpoints


def fit(
    attempts: Sequence[Attempt], number: int, device: torch.device, folder: Path | None = None
) -> None:
    """Fit, and charge each attempt an equal share of time and memory.

    `number` counts the fits of a run from 0. Fits that go on from a checkpoint in `folder` cost
    what they did before, too; how much energy that was is not known. Compiling comes before,
    and is charged apart.
    """
    if not attempts:
        return
    compile_seconds = warm_up(attempts[0], device)
    runs, train = [a.run for a in attempts], [a.data.train for a in attempts]
    with (
        memory.growth(device) as grown,
        stopwatch(device) as watch,
        checkpoints.place(folder, runs, number, train, device, grown.so_far) as place,
    ):
        _fit_all(attempts, number, device)
    seconds = watch.seconds + place.earlier_seconds
    energy = None if place.earlier_seconds else watch.joules
    peak = max(grown.bytes, place.earlier_peak_bytes)
    for attempt in attempts:
        attempt.fit_seconds += seconds / len(attempts)
        attempt.compile_seconds += compile_seconds / len(attempts)
        earlier = attempt.fit_joules if number else 0.0
        if energy is None or earlier is None:
            attempt.fit_joules = None
        else:
            attempt.fit_joules = earlier + energy / len(attempts)
        attempt.peak_bytes = max(attempt.peak_bytes, peak / len(attempts))
        attempt.interruptions = checkpoints.account(place, attempt.interruptions)


def _fit_all(attempts: Sequence[Attempt], number: int, device: torch.device) -> None:
    """Give every attempt its posterior, or the reason why it has none."""
    batched = isinstance(attempts[0].run.method, BatchedMethod)
    alike: dict[object, list[Attempt]] = {}
    for place, attempt in enumerate(attempts):
        data = attempt.data
        form = (tuple(data.train.inputs.shape), data.likelihood) if batched else place
        alike.setdefault(form, []).append(attempt)
    for together in alike.values():
        try:
            posteriors = _posteriors(together, number, device)
        except (Exception, SystemExit) as error:
            posteriors = [error] * len(together)
        for attempt, posterior in zip(together, posteriors, strict=True):
            if isinstance(posterior, BaseException):
                attempt.record_failure(posterior)
                continue
            attempt.posterior = posterior
            try:
                attempt.own_network = own_network(posterior)
            except Exception as error:
                attempt.record_failure(error)


def _posteriors(
    attempts: Sequence[Attempt], number: int, device: torch.device
) -> Sequence[Posterior | BaseException]:
    """Return what the method gives; raises where that is not one posterior a problem."""
    method = attempts[0].run.method
    train = {id(a.data): a.data.train.to(device) for a in attempts}  # seeds of a fold share it
    problems = [Problem(train[id(a.data)], a.data.likelihood, a.run.architecture) for a in attempts]
    rngs = [_fit_stream(attempt.run, number, device) for attempt in attempts]
    with unchanged(*(problem.train for problem in problems)):
        if isinstance(method, BatchedMethod):
            given = method.fit_many(problems, rngs)
        else:
            given = [method.fit(problem, rng) for problem, rng in zip(problems, rngs, strict=True)]
    if len(given) != len(problems):
        raise ValueError(f"fit_many gave {len(given)} posteriors for {len(problems)} problems")
    for posterior in given:
        if not isinstance(posterior, Posterior | Exception):
            raise TypeError(f"not a posterior with diagnostics and predict: {posterior!r}")
    return given


def _fit_stream(run: Run, number: int, device: torch.device) -> torch.Generator:
    """Return the stream of a run's fit; the arms of active learning have equal ones."""
    rounds = (number,) if run.acquisition else ()
    return stream("fit", run.source, run.fold, run.seed, *rounds, device=device)


def grow(attempt: Attempt, number: int, device: torch.device) -> None:
    """Label the rows that fit `number` sees for the first time, chosen by the fit before.

    Of that fit's predictions only what `kept_of_earlier` leaves is kept.
    """
    run, posterior = attempt.run, attempt.posterior
    assert run.acquisition is not None
    assert posterior is not None
    assert isinstance(run.source, PoolSource)
    rows = choices(run.acquisition, run.source, run.fold, attempt.acquired)
    names = run.fold, run.seed, number - 1
    try:
        with stopwatch(device) as watch:
            chosen = acquire(
                run.acquisition, run.source, rows, attempt.data.scaling, posterior, names, device
            )
    except (Exception, SystemExit) as error:
        attempt.record_failure(error)
        return
    attempt.predict_seconds += watch.seconds
    attempt.acquired += chosen
    attempt.data = run.source.grown(run.fold, attempt.acquired)
    attempt.predictions = kept_of_earlier(attempt.predictions)
