"""The whole flow of a run in one place: load, fit, predict, score, measure."""

import dataclasses
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from bnnbench.datasets.facts import of_source
from bnnbench.engine.declare.description import describe
from bnnbench.engine.declare.grid import Evaluation, Reproduces, Run, after_each_fit
from bnnbench.engine.declare.third_party import has_foreign_code
from bnnbench.engine.run import devices
from bnnbench.engine.run.attempt import Attempt, blaming, unfinished
from bnnbench.engine.run.evaluation import evaluate, probe
from bnnbench.engine.run.fitting import fit, grow
from bnnbench.engine.run.guards import canary, global_state
from bnnbench.engine.run.guards.isolation import Keeper
from bnnbench.engine.run.measuring.fingerprint import fingerprint_of_data
from bnnbench.engine.run.measuring.provenance import Code, of_modules, provenance
from bnnbench.engine.run.packing import pack
from bnnbench.engine.run.trials import score_trials
from bnnbench.engine.store.record import Cost, Record
from bnnbench.engine.store.record_json import to_json
from bnnbench.methods.fitting.progress import Listener, listening, part_of
from bnnbench.methods.source_code import Class, classes_of, digest_of


@dataclass(frozen=True)
class Task:
    """Runs to be fitted together, and the evaluations of their posteriors."""

    runs: tuple[Run, ...]
    evaluations: tuple[Evaluation, ...]
    device: str = "cpu"
    """Name of a device, which the process that fits decides on: "auto" is a GPU if it has one."""
    reproduces: tuple[Reproduces, ...] = ()
    checkpoints: Path | None = None
    """Checkpoint folder; may be absent on this machine."""
    code: Code = field(default_factory=Code)

    @property
    def rounds(self) -> list[tuple[Evaluation, ...]]:
        """The evaluations after each fit; only active learning has several fits."""
        return after_each_fit(self.evaluations, self.runs[0].acquisition)

    @property
    def name(self) -> str:
        """A name for progress lines."""
        first, count = self.runs[0], len(self.runs)
        runs = f"{count} runs" if count > 1 else f"fold {first.fold}, seed {first.seed}"
        labels = " and ".join(dict.fromkeys(run.label for run in self.runs))
        return f"{labels} on {first.case.name} ({runs})"


def sources_sha256(task: Task) -> str:
    """Return the digest of the sources that carry a task out: the engine's and the method's."""
    return digest_of(Class(__name__, execute.__name__), *classes_of(task.runs[0].method))


@dataclass(frozen=True)
class Outcome:
    """A record and, where the run was completed, its predictions."""

    record: Record
    predictions: bytes | None
    """The content of predictions.npz."""


def execute(
    task: Task, listener: Listener = lambda *_: None, keeper: Keeper | None = None
) -> list[Outcome]:
    """Return one outcome for each run of the task.

    Inference that diverges is a result. Any other error of a method is recorded as a failed
    run with its traceback; an error of the engine or of a data source stops the suite.

    With a `keeper`, the method fits on the training rows that it gives, and test rows come into
    this process after the fit.

    After a method that is not of this project a known fit is repeated: where it differs, the runs
    have failed, and no other task should follow in this process.
    """
    with devices.used(task.device) as device:
        return _executed(task, device, listener, keeper)


def _executed(
    task: Task, device: torch.device, listener: Listener, keeper: Keeper | None
) -> list[Outcome]:
    watched = has_foreign_code(task.runs[0])
    if watched:
        canary.expected()
    with global_state.restored(seed=int(task.runs[0].key, 16) % 2**63) as changed:
        attempts = _attempts(task, device, listener, keeper)
        packed = [_packed(attempt) for attempt in attempts]
    for attempt in attempts:
        if changed:
            attempt.provenance_entries["process_state_restored"] = list(changed)
    if watched and not canary.check_process():
        for attempt in attempts:
            if attempt.status != "failed":
                attempt.record_failure(canary.ProcessChanged())
    return [_outcome(*pair, task, device) for pair in zip(attempts, packed, strict=True)]


def _attempts(
    task: Task, device: torch.device, listener: Listener, keeper: Keeper | None
) -> list[Attempt]:
    """Carry out the runs of a task, as far as each gets."""
    attempts = [Attempt.begun(run, keeper) for run in task.runs]
    rounds = task.rounds
    for number, evaluations in enumerate(rounds):
        if number:
            for attempt in unfinished(attempts):
                grow(attempt, number, device)
        with listening(part_of(listener, number, len(rounds))):
            fit(unfinished(attempts), number, device, task.checkpoints)
        for attempt in attempts:
            attempt.reveal()
        for attempt in unfinished(attempts):
            evaluate(attempt, evaluations, device)
    for attempt in unfinished(attempts):
        probe(attempt, device)
    for attempt in unfinished(attempts):
        score_trials(attempt, next(iter(rounds[-1]), None), device)
    return attempts


def _packed(attempt: Attempt) -> bytes | None:
    """Return the predictions of a completed run as a file; an error is the method's failure."""
    if attempt.status == "completed":
        with blaming(attempt):
            return pack(attempt.predictions)
    return None


def _outcome(
    attempt: Attempt, predictions: bytes | None, task: Task, device: torch.device
) -> Outcome:
    """Return the outcome; what cannot be written is the method's failure, and left out."""
    with blaming(attempt):
        record = _record(attempt, task, device)
        to_json(record)
        return Outcome(record, predictions)
    attempt.diagnostics, attempt.own_network = {}, None
    return Outcome(_record(attempt, task, device), None)


def _record(attempt: Attempt, task: Task, device: torch.device) -> Record:
    data, completed = attempt.start, attempt.status == "completed"
    spent = attempt.fit_seconds, attempt.predict_seconds, attempt.peak_bytes
    conditions = [e.condition for e in chain.from_iterable(task.rounds)]
    traits_by_name = {c.name: c.traits for c in conditions} | attempt.probed
    cost = Cost(
        *spent,
        len({(run.fold, run.seed) for run in task.runs}),
        attempt.fit_joules,
        attempt.compile_seconds,
        attempt.fit_cpu_seconds,
        attempt.busy_elsewhere,
        attempt.predict_cpu_seconds,
        attempt.work,
        attempt.fit_of,
    )
    return Record(
        **_identity(attempt.run, task),
        origin=data.origin,
        status=attempt.status,
        error=attempt.error,
        failed_at=attempt.failed_at,
        scores=attempt.scores if completed else {},
        condition_origins={c.name: c.origin(data) for c in conditions}
        | dict.fromkeys(attempt.probed, data.origin),
        condition_traits={name: traits.as_data() for name, traits in traits_by_name.items()},
        diagnostics=attempt.diagnostics,
        cost=cost,
        facts={**data.facts, **of_source(attempt.run.source)},
        provenance={
            **provenance(device, attempt.run.method, task.code),
            **(of_modules(attempt.run, data.train) if completed else {}),
            **attempt.provenance_entries,
        },
        target=dataclasses.asdict(data.target) if data.target else None,
        acquired=attempt.acquired,
        not_scored=attempt.not_scored,
        unsteady=attempt.unsteady,
        unanswered=attempt.unanswered if completed else {},
        own_network=attempt.own_network,
        search=attempt.search,
        trial_scores=attempt.trial_scores if completed else {},
        condition_data=attempt.condition_data,
        code_sha256=task.code.sha256,
        fitted_sha256=attempt.fitted_sha256,
        data_sha256=fingerprint_of_data(data),
    )


def lost(task: Task, reason: str, place: str | None = None) -> list[Outcome]:
    """Return the outcomes of a task whose process died, at `place`: failed runs with the reason.

    The process alone knew its device, unless that was the processor.
    """
    device = torch.device("cpu") if task.device == "cpu" else None
    record = partial(
        Record,
        origin=task.runs[0].source.origin,
        status="failed",
        error=reason,
        failed_at=place,
        scores={},
        condition_origins={},
        diagnostics={},
        cost=None,
        facts={},
        provenance=provenance(device, task.runs[0].method, task.code),
    )
    return [Outcome(record(**_identity(run, task)), None) for run in task.runs]


def _identity(run: Run, task: Task) -> dict[str, Any]:
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
