"""Outcomes of runs: their final states as records."""

import dataclasses
from collections.abc import Mapping
from functools import partial
from itertools import chain
from typing import Any

import torch

from bnnbench.datasets.facts import of_source
from bnnbench.engine.declare.description import describe
from bnnbench.engine.declare.grid import Run
from bnnbench.engine.records.cost import Cost
from bnnbench.engine.records.record import Circumstances, Outcome, Record
from bnnbench.engine.records.round_trip import readable_json
from bnnbench.engine.run.error_texts import message, place
from bnnbench.engine.run.measuring.fingerprint import fingerprint_of_data
from bnnbench.engine.run.measuring.provenance import of_modules, provenance
from bnnbench.engine.run.packing import pack
from bnnbench.engine.run.states import ConditionResult, Failed, Fits, PredictCost, State, tried
from bnnbench.engine.run.task import Packed, RunResult, Task


def packed_state(state: State, task: Task) -> Packed:
    """Return a state with the packed predictions of a completed run; errors make it `Failed`."""
    if isinstance(state, Failed):
        return Packed(state)
    results = {name: result.stored for name, result in state.results.conditions.items()}
    declared = [e.condition.name for e in chain.from_iterable(task.rounds)]
    stored = {name: one for name in declared if (one := results.get(name))}
    search = state.results.search

    def packed() -> Packed:
        trials = pack(search.predictions) if search and search.predictions else None
        return Packed(state, pack(stored), trials)

    ended = tried(packed)
    return ended if isinstance(ended, Packed) else Packed(Failed.by(ended, state))


def outcome_of(packed: Packed, task: Task, device: torch.device, scored: bool = True) -> RunResult:
    """Return the outcome. A record that could not be read back is the method's failure.

    Of a run that is not `scored` yet, only what its own process can know is meant to stay.
    """
    record = tried(partial(_readable, packed.state, task, device, scored))
    if isinstance(record, Record):
        return RunResult(record, packed.predictions)
    outcome = Outcome("failed", message(record), {}, {}, failed_at=place(record))
    return RunResult(_bare(packed.state.loaded.run, task, outcome, device), None)


def _readable(state: State, task: Task, device: torch.device, scored: bool) -> Record:
    """Return the record of a state. Raises `NotReadable`."""
    record = _record(state, task, device, scored)
    readable_json(record)
    return record


def _record(state: State, task: Task, device: torch.device, scored: bool) -> Record:
    loaded, results, completed = state.loaded, state.results, not isinstance(state, Failed)
    run, data, fits, conditions = loaded.run, loaded.first, loaded.fits, results.conditions
    declared = [e.condition for e in chain.from_iterable(task.rounds)]
    probed = {name: r.traits for name, r in conditions.items() if r.traits}
    traits = {condition.name: condition.traits for condition in declared} | probed
    search = results.search
    outcome = Outcome(
        **_failure(state),
        scores=results.scores if completed else {},
        not_scored=_parts(conditions, "not_scored"),
        unanswered=_parts(conditions, "unanswered") if completed else {},
        batch_dependence=_parts(conditions, "batch_dependence"),
        diagnostics=results.diagnostics,
        acquired=loaded.acquired,
        own_network=fits.own_network,
        search=search.data if search else None,
        trial_scores=search.scores if search and completed else {},
    )
    circumstances = Circumstances(
        origin=data.origin,
        facts={**data.facts, **of_source(run.source)},
        provenance={
            **provenance(device, run.method, task.code(run)),
            **(of_modules(run, data.train) if completed else {}),
            **({"in_process": True} if task.in_process else {}),
            **({"sandbox": True} if task.sandbox else {}),
            **({"shortened": task.shortened} if task.shortened else {}),
            **fits.notes,
        },
        target=dataclasses.asdict(data.target) if data.target else None,
        condition_origins={c.name: c.origin(data) if scored else data.origin for c in declared}
        | dict.fromkeys(probed, data.origin),
        condition_traits={name: one.as_data() for name, one in traits.items()},
        condition_data=_parts(conditions, "data_sha256"),
        data_sha256=fingerprint_of_data(data),
        fitted_sha256=fits.train_sha256,
        code_sha256=task.code(run).sha256,
    )
    cost = _cost(fits, results.cost, task)
    return Record(**identity(run, task), outcome=outcome, cost=cost, circumstances=circumstances)


def _parts(conditions: Mapping[str, ConditionResult], name: str) -> dict[str, Any]:
    """Return condition → one part of its result, for conditions that have it."""
    parts = {condition: getattr(result, name) for condition, result in conditions.items()}
    return {condition: part for condition, part in parts.items() if part}


def _failure(state: State) -> dict[str, Any]:
    if isinstance(state, Failed):
        return {"status": state.status, "error": state.error, "failed_at": state.failed_at}
    return {"status": "completed", "error": None}


def _cost(fits: Fits, predicting: PredictCost, task: Task) -> Cost:
    spent = fits.cost
    return Cost(
        fit_seconds=spent.seconds,
        predict_seconds=predicting.seconds,
        peak_bytes=spent.peak_bytes,
        fitted_together=len({(run.fold, run.seed) for run in task.runs}),
        fit_joules=spent.joules,
        compile_seconds=spent.compile_seconds,
        fit_cpu_seconds=spent.cpu_seconds,
        busy_elsewhere=spent.busy_elsewhere,
        predict_cpu_seconds=predicting.cpu_seconds,
        work=spent.work,
        fit_of=fits.shared_with,
    )


def lost(task: Task, reason: str, place: str | None = None) -> list[RunResult]:
    """Return the outcomes of a task whose process died, at `place`: failed runs with the reason.

    The device is unknown, unless it was the CPU.
    """
    device = torch.device("cpu") if task.device == "cpu" else None
    outcome = Outcome("failed", reason, scores={}, diagnostics={}, failed_at=place)
    return [RunResult(_bare(run, task, outcome, device), None) for run in task.runs]


def check_planned(run: Run, task: Task) -> None:
    """Raise `NotReadable` if no record of a planned run could be read back."""
    outcome = Outcome("failed", "", scores={}, diagnostics={})
    circumstances = Circumstances(run.source.origin, {}, {}, {})
    readable_json(
        Record(**identity(run, task), outcome=outcome, cost=None, circumstances=circumstances)
    )


def _bare(run: Run, task: Task, outcome: Outcome, device: torch.device | None) -> Record:
    """Return a record without cost and without facts of data."""
    circumstances = Circumstances(
        origin=run.source.origin,
        facts={},
        provenance=provenance(device, run.method, task.code(run)),
        condition_origins={},
    )
    return Record(**identity(run, task), outcome=outcome, cost=None, circumstances=circumstances)


def identity(run: Run, task: Task) -> dict[str, Any]:
    """Return the fields of a record that identify the run."""
    return {
        "key": run.key,
        "suite": run.suite,
        "profile": run.profile,
        **run.names,
        "fold": run.fold,
        "seed": run.seed,
        "run": run.description,
        "reproduces": tuple(dataclasses.asdict(r) for r in task.reproduces),
        "evaluations": tuple(map(describe, task.evaluations)),
    }
