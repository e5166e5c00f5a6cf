"""Fits of runs, together where possible, and the rows that active learning adds."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import torch

from bnnbench.datasets.base import PoolSource
from bnnbench.datasets.reading.withheld import withheld
from bnnbench.engine.declare.acquisition import acquire, choices
from bnnbench.engine.declare.grid import Run
from bnnbench.engine.run.attempt import Attempt, Spent, blaming, reload_changed_data
from bnnbench.engine.run.guards.data_guard import unchanged
from bnnbench.engine.run.measuring import memory
from bnnbench.engine.run.measuring.fingerprint import fingerprint
from bnnbench.engine.run.measuring.stopwatch import stopwatch
from bnnbench.engine.run.measuring.warming import warm_up
from bnnbench.engine.run.packing import stored_of_earlier_rounds
from bnnbench.engine.run.shared_fits import divided, take_over
from bnnbench.engine.run.streams import stream
from bnnbench.engine.store import checkpoints
from bnnbench.methods.base import BatchedMethod, Posterior, Problem
from bnnbench.methods.fitting import children, tf32, work
from bnnbench.methods.networks.own_network import own_network


def fit(
    attempts: Sequence[Attempt], number: int, device: torch.device, folder: Path | None = None
) -> None:
    """Fit, and charge each attempt an equal share of time, work and memory.

    `number` counts the fits of a run from 0. A fit that continues from a checkpoint in `folder` is
    charged with the time before it too; its energy, processor time and work are unknown. What warms
    the process up comes first, and is charged separately; so are the starts of processes of other
    libraries. Attempts that share a fit have its costs each.
    """
    if not attempts:
        return
    reload_changed_data(attempts)
    attempts, sharing = divided(attempts)
    for attempt in attempts:
        attempt.fitted_sha256 = fingerprint(attempt.data.train)
    compile_seconds = warm_up(attempts[0], device)
    before = children.starts()
    runs, train = [a.run for a in attempts], [a.data.train for a in attempts]
    with (
        memory.growth(device) as grown,
        stopwatch(device) as watch,
        work.counting() as tally,
        tf32.watching() as allowed,
        checkpoints.checkpoint_folder(
            folder, runs, number, train, device, grown.so_far
        ) as checkpoint,
    ):
        _fit_all(attempts, number, device)
    starting, starting_cpu = (b - a for a, b in zip(before, children.starts(), strict=True))
    continued = checkpoint.earlier_seconds > 0
    spent = Spent(
        watch.seconds - starting + checkpoint.earlier_seconds,
        compile_seconds + starting,
        max(grown.bytes + children.fit_bytes(), checkpoint.earlier_peak_bytes),
        watch.busy_elsewhere,
        None if continued else watch.joules,
        None if continued else watch.cpu_seconds - starting_cpu,
        None if continued else tally.counts,
    )
    environments = children.environments()
    for attempt in attempts:
        attempt.charge(spent, 1 / len(attempts))
        if environments:
            attempt.provenance_entries["environments"] = environments
        attempt.provenance_entries = checkpoints.provenance_entries(
            checkpoint, attempt.provenance_entries
        )
        attempt.provenance_entries |= tf32.entry(device, allowed)
    for attempt, first in sharing:
        take_over(attempt, first)


def _fit_all(attempts: Sequence[Attempt], number: int, device: torch.device) -> None:
    """Give every attempt its posterior, or the reason why it has none."""
    batched = isinstance(attempts[0].run.method, BatchedMethod)
    alike: dict[object, list[Attempt]] = {}
    for index, attempt in enumerate(attempts):
        data = attempt.data
        form = (tuple(data.train.inputs.shape), data.likelihood) if batched else index
        alike.setdefault(form, []).append(attempt)
    for together in alike.values():
        posteriors: Sequence[Posterior | BaseException] = []
        with blaming(*together):
            posteriors = _posteriors(together, number, device)
        for attempt, posterior in zip(together, posteriors, strict=False):
            with blaming(attempt):
                if isinstance(posterior, BaseException):
                    raise posterior
                attempt.posterior = posterior
                attempt.own_network = own_network(posterior)


def _posteriors(
    attempts: Sequence[Attempt], number: int, device: torch.device
) -> Sequence[Posterior | BaseException]:
    """Return the method's posteriors; raises unless there is one for each problem."""
    method = attempts[0].run.method
    train = {id(a.data): a.data.train.to(device) for a in attempts}  # seeds of a fold share it
    problems = [
        Problem(train[id(a.data)], a.data.likelihood, a.run.architecture, a.run.prior)
        for a in attempts
    ]
    rngs = [_fit_stream(attempt.run, number, device) for attempt in attempts]
    shared = [split for a in attempts for split in (a.data.train, a.data.test)]
    closed = withheld() if attempts[0].keeper else nullcontext()
    with closed, unchanged(*shared, *(problem.train for problem in problems)):
        if isinstance(method, BatchedMethod):
            posteriors = list(method.fit_many(problems, rngs))
        else:
            posteriors = [
                method.fit(problem, rng) for problem, rng in zip(problems, rngs, strict=True)
            ]
    if len(posteriors) != len(problems):
        raise ValueError(f"fit_many gave {len(posteriors)} posteriors for {len(problems)} problems")
    for posterior in posteriors:
        if not isinstance(posterior, Posterior | Exception):
            kind = type(posterior).__name__
            raise TypeError(f"needed a posterior with diagnostics and predict; got a {kind}")
    return posteriors


def _fit_stream(run: Run, number: int, device: torch.device) -> torch.Generator:
    """Return the stream of a run's fit; the arms of active learning have equal ones."""
    rounds = (number,) if run.acquisition else ()
    return stream("fit", run.source, run.fold, run.seed, *rounds, device=device)


def grow(attempt: Attempt, number: int, device: torch.device) -> None:
    """Label the rows that fit `number` sees for the first time, chosen by the fit before.

    Only those of that fit's predictions that `stored_of_earlier_rounds` returns are stored.
    """
    run, posterior = attempt.run, attempt.posterior
    assert run.acquisition is not None
    assert posterior is not None
    assert isinstance(run.source, PoolSource)
    rows = choices(run.acquisition, run.source, run.fold, attempt.acquired)
    names = run.fold, run.seed, number - 1
    with blaming(attempt):
        with stopwatch(device) as watch, unchanged(attempt.data.train, attempt.data.test):
            acquired = acquire(
                run.acquisition, run.source, rows, attempt.data.scaling, posterior, names, device
            )
        attempt.predictions = stored_of_earlier_rounds(attempt.predictions)
        attempt.predict_seconds += watch.seconds
        attempt.predict_cpu_seconds += watch.cpu_seconds
        attempt.acquired += acquired
    if attempt.status == "completed":
        attempt.data = run.source.with_acquired(run.fold, attempt.acquired)
        attempt.withhold()
