"""Fits of runs, batched if the method can."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from bnnbench.datasets.base import Dataset, Split
from bnnbench.engine.declare.grid import Run
from bnnbench.engine.declare.streams import stream
from bnnbench.engine.run.guards.data_guard import unchanged_data
from bnnbench.engine.run.measuring.fingerprint import fingerprint
from bnnbench.engine.run.measuring.fits import measured
from bnnbench.engine.run.measuring.warming import warm_up
from bnnbench.engine.run.rows import Rows
from bnnbench.engine.run.states import Failed, Fitted, Loaded, State, tried
from bnnbench.methods.base import BatchedMethod, Posterior, Problem, SharesFits
from bnnbench.methods.compiled.cupy_builds import misfits_explained
from bnnbench.methods.networks.modules.trained import start_in
from bnnbench.methods.networks.own_network import own_network


def fit_all(
    states: Sequence[State],
    number: int,
    device: torch.device,
    checkpoints: Path | None,
    rows: Rows,
) -> list[State]:
    """Fit the loaded runs; each is charged an equal share of time, work and memory.

    `number` counts the fits of a run from 0. Runs whose methods differ only in prediction settings
    share a fit, and each is charged its full cost.
    """
    undamaged = iter(rows.undamaged([state for state in states if isinstance(state, Loaded)]))
    current = [next(undamaged) if isinstance(state, Loaded) else state for state in states]
    first: dict[tuple[int, int], Loaded] = {}
    for state in current:
        if isinstance(state, Loaded):
            first.setdefault((state.run.fold, state.run.seed), state)
    together = [*first.values()]
    ends = _fitted(together, number, device, checkpoints) if together else []
    fitted = dict(zip(first, ends, strict=True))

    def ended(state: State) -> State:
        if not isinstance(state, Loaded):
            return state
        key = state.run.fold, state.run.seed
        return fitted[key] if state is first[key] else _sharing(state, fitted[key])

    return [ended(state) for state in current]


def _fitted(
    runs: Sequence[Loaded], number: int, device: torch.device, checkpoints: Path | None
) -> list[State]:
    """Return the runs after a fit. Warming the process up is charged separately."""
    sums = [fingerprint(loaded.data.train) for loaded in runs]
    warm_seconds, not_compiled = warm_up(runs[0], device)
    fit = partial(_posteriors, runs, number, device)
    posteriors, cost, notes = measured(fit, runs, number, device, checkpoints)
    cost = replace(cost, compile_seconds=warm_seconds + cost.compile_seconds)
    share = cost.shared_by(len(runs))
    ends: list[State] = []
    for loaded, train_sha256, posterior in zip(runs, sums, posteriors, strict=True):
        earlier = {**loaded.fits.notes, **(not_compiled if loaded is runs[0] else {})}
        fits = replace(
            loaded.fits,
            cost=loaded.fits.cost + share,
            train_sha256=train_sha256,
            notes=notes(earlier),
        )
        ends.append(_end(replace(loaded, fits=fits), posterior))
    return ends


def _end(loaded: Loaded, posterior: Posterior | BaseException) -> State:
    """Return the state after a fit that gave a posterior, or an error in its place."""
    if isinstance(posterior, BaseException):
        return Failed.by(posterior, loaded)
    network = tried(partial(own_network, posterior))
    if isinstance(network, BaseException):
        return Failed.by(network, loaded)
    fits = replace(loaded.fits, own_network=network)
    return Fitted(replace(loaded, fits=fits), posterior)


def _sharing(loaded: Loaded, first: State) -> State:
    """Return a run with the posterior, or the failure, of the run whose fit it shares."""
    fits = replace(first.loaded.fits, shared_with=first.loaded.run.key)
    loaded = replace(loaded, fits=fits)
    if not isinstance(first, Fitted):
        assert isinstance(first, Failed)
        return replace(first, reached=loaded)
    method = loaded.run.method
    assert isinstance(method, SharesFits)
    posterior = tried(partial(method.from_fit, first.posterior))
    if isinstance(posterior, BaseException):
        return Failed.by(posterior, loaded)
    return Fitted(loaded, posterior)


def _posteriors(
    runs: Sequence[Loaded], number: int, device: torch.device
) -> list[Posterior | BaseException]:
    """Return each run's posterior, or the error in its place."""
    alike: dict[object, list[int]] = {}
    for place, loaded in enumerate(runs):
        batched = isinstance(loaded.run.method, BatchedMethod)
        form = (tuple(loaded.data.train.inputs.shape), loaded.data.likelihood) if batched else place
        alike.setdefault(form, []).append(place)
    results: dict[int, Posterior | BaseException] = {}
    for together in alike.values():
        posteriors = tried(partial(_fit, [runs[p] for p in together], number, device))
        if isinstance(posteriors, BaseException):
            posteriors = [posteriors] * len(together)
        results |= zip(together, posteriors, strict=True)
    return [results[place] for place in range(len(runs))]


def _fit(
    runs: Sequence[Loaded], number: int, device: torch.device
) -> Sequence[Posterior | BaseException]:
    """Return the method's posteriors; raises unless there is one for each problem."""
    method = runs[0].run.method
    # Seeds of a fold share their rows, which are moved to the device once.
    train = {id(loaded.data): loaded.data.train.to(device) for loaded in runs}
    problems = [_problem(r.run, r.data, train[id(r.data)]) for r in runs]
    rngs = [_stream(loaded.run, number, device) for loaded in runs]
    given = [split for r in runs for split in r.data.splits]
    guarded: Callable[..., Sequence[Posterior | BaseException]] = unchanged_data(
        method.fit_many if isinstance(method, BatchedMethod) else partial(_one_by_one, method.fit),
        *given,
        *(problem.train for problem in problems),
    )
    with misfits_explained():
        posteriors = list(guarded(problems, rngs))
    if len(posteriors) != len(problems):
        raise ValueError(f"fit_many gave {len(posteriors)} posteriors for {len(problems)} problems")
    for posterior in posteriors:
        if not isinstance(posterior, Posterior | Exception):
            kind = type(posterior).__name__
            raise TypeError(f"needed a posterior with diagnostics and predict; got a {kind}")
    return posteriors


def _problem(run: Run, data: Dataset, train: Split) -> Problem:
    """Return the problem of a run, with training rows on the device of its fit.

    Calibration rows come with a trained network, whose weights the architecture's files give.
    """
    calibration = data.calibration and data.calibration.to(train.inputs.device)
    shape = tuple(train.inputs.shape[1:])
    start = start_in(run.architecture, shape) if calibration else None
    return Problem(
        *(train, data.likelihood, run.architecture, run.prior, start, calibration),
        target_zero=data.target_zero,
    )


def _one_by_one(
    fit: Callable[[Problem, torch.Generator], Any],
    problems: Sequence[Problem],
    rngs: Sequence[torch.Generator],
) -> list[Any]:
    return [fit(problem, rng) for problem, rng in zip(problems, rngs, strict=True)]


def _stream(run: Run, number: int, device: torch.device) -> torch.Generator:
    """Return the stream of a run's fit, which is the same for all acquisition strategies."""
    rounds = (number,) if run.acquisition else ()
    return stream("fit", run.source, run.fold, run.seed, *rounds, device=device)
