"""Carry out runs: load, fit, predict, score. The whole flow in one place."""

import dataclasses
import time
import traceback
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace

import torch

from datasets.base import Dataset
from methods.base import BatchedMethod, InferenceDiverged, Posterior, Problem
from methods.progress import Listener, listening
from suites.engine import memory
from suites.engine.grid import Evaluation, Reproduces, Run
from suites.engine.provenance import provenance
from suites.engine.record import Cost, Record, Status
from suites.engine.score import score
from suites.engine.store import Predictions, kept
from suites.engine.streams import stream


@dataclass(frozen=True)
class Task:
    """Runs to be fitted together, and what to do with their posteriors."""

    runs: tuple[Run, ...]
    evaluations: tuple[Evaluation, ...]
    device: str = "cpu"
    reproduces: tuple[Reproduces, ...] = ()

    @property
    def name(self) -> str:
        """A name for progress lines."""
        first, many = self.runs[0], len(self.runs)
        which = f"{many} runs" if many > 1 else f"fold {first.fold}, seed {first.seed}"
        return f"{first.label} on {first.source.name} ({which})"


@dataclass(frozen=True)
class Outcome:
    """A record and, where the run was completed, its predictions."""

    record: Record
    predictions: Predictions | None


@dataclass
class _Attempt:
    """What is known of one run while it is carried out."""

    run: Run
    data: Dataset
    status: Status = "completed"
    error: str | None = None
    posterior: Posterior | None = None
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    predictions: dict = field(default_factory=dict)
    predict_seconds: float = 0.0

    def give_up(self, error: BaseException) -> None:
        self.status = "diverged" if isinstance(error, InferenceDiverged) else "failed"
        self.error = str(error) if self.status == "diverged" else traceback.format_exc()


def execute(task: Task, listener: Listener = lambda *_: None) -> list[Outcome]:
    """Return one outcome for each run of the task.

    Inference that diverges is a result. Any other error of a method is recorded as a failed
    run with its traceback; an error of the engine or of a data source stops the suite.
    """
    attempts = [_Attempt(run, run.source.load(run.fold)) for run in task.runs]
    device = torch.device(task.device)
    fit = SimpleNamespace(seconds=0.0, bytes=0.0)
    with memory.growth(device) as grown, _stopwatch(device) as watch, listening(listener):
        _fit(attempts, device)
    fit.seconds, fit.bytes = watch.seconds / len(attempts), grown.bytes / len(attempts)
    for attempt in attempts:
        if attempt.posterior is not None:
            _predict(attempt, task.evaluations, device)
    return [_outcome(attempt, task, fit, device) for attempt in attempts]


def _fit(attempts: Sequence[_Attempt], device: torch.device) -> None:
    problems = [
        Problem(a.data.train.to(device), a.data.likelihood, a.run.architecture) for a in attempts
    ]
    rngs = [
        stream("fit", a.run.source, a.run.fold, a.run.seed, device=device) for a in attempts
    ]
    method = attempts[0].run.method
    try:
        if isinstance(method, BatchedMethod):
            posteriors = method.fit_many(problems, rngs)
        else:
            posteriors = [method.fit(p, r) for p, r in zip(problems, rngs, strict=True)]
    except Exception as error:
        for attempt in attempts:
            attempt.give_up(error)
        return
    for attempt, posterior in zip(attempts, posteriors, strict=True):
        if isinstance(posterior, InferenceDiverged):
            attempt.give_up(posterior)
        else:
            attempt.posterior = posterior


def _predict(
    attempt: _Attempt, evaluations: Sequence[Evaluation], device: torch.device
) -> None:
    run, data, posterior = attempt.run, attempt.data, attempt.posterior
    assert posterior is not None
    for evaluation in evaluations:
        name = evaluation.condition.name
        split = evaluation.condition.select(data)
        rng = stream("predict", run.source, run.fold, run.seed, name, device=device)
        try:
            with _stopwatch(device) as watch:
                prediction = posterior.predict(split.inputs.to(device), rng)
        except Exception as error:
            attempt.give_up(error)
            return
        attempt.predict_seconds += watch.seconds
        prediction = kept(_on_cpu(prediction))
        target = dataclasses.asdict(data.target) if data.target else None
        attempt.scores[name] = score(prediction, split.targets, evaluation.metrics, target)
        attempt.predictions[name] = (prediction, split.targets)


def _outcome(
    attempt: _Attempt, task: Task, fit: SimpleNamespace, device: torch.device
) -> Outcome:
    run, data = attempt.run, attempt.data
    done = attempt.status == "completed"
    record = Record(
        key=run.key,
        suite=run.suite,
        profile=run.profile,
        dataset=run.source.name,
        origin=data.origin,
        method=run.label,
        fold=run.fold,
        seed=run.seed,
        run=run.description,
        status=attempt.status,
        error=attempt.error,
        scores=attempt.scores if done else {},
        condition_origins={
            e.condition.name: e.condition.origin(data) for e in task.evaluations
        },
        diagnostics=dict(attempt.posterior.diagnostics) if attempt.posterior else {},
        cost=Cost(fit.seconds, attempt.predict_seconds, fit.bytes, len(task.runs)),
        facts=data.facts,
        provenance=provenance(device),
        reproduces=tuple(dataclasses.asdict(r) for r in task.reproduces),
        target=dataclasses.asdict(data.target) if data.target else None,
    )
    return Outcome(record, attempt.predictions if done else None)


def _on_cpu(prediction):
    """Return the prediction with its tensors on the CPU."""
    if all(f.device.type == "cpu" for f in _tensors(prediction)):
        return prediction
    fields = {f.name: getattr(prediction, f.name).cpu() for f in dataclasses.fields(prediction)}
    return dataclasses.replace(prediction, **fields)


def _tensors(prediction) -> list[torch.Tensor]:
    return [getattr(prediction, f.name) for f in dataclasses.fields(prediction)]


@contextmanager
def _stopwatch(device: torch.device):
    """Measure the block's seconds, waiting for the device at both ends."""
    watch = SimpleNamespace(seconds=0.0)
    _synchronise(device)
    start = time.perf_counter()
    try:
        yield watch
    finally:
        _synchronise(device)
        watch.seconds = time.perf_counter() - start


def _synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
