"""Carry out runs: load, fit, predict, score. The whole flow in one place."""

import dataclasses
import time
import traceback
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch

from datasets.base import Dataset, Split
from methods.base import BatchedMethod, InferenceDiverged, Posterior, Problem
from methods.predictive import Predictive
from methods.progress import Listener, listening
from suites.engine import memory
from suites.engine.grid import Evaluation, Reproduces, Run
from suites.engine.guard import check, unchanged
from suites.engine.provenance import provenance
from suites.engine.record import Cost, Record, Status
from suites.engine.score import score
from suites.engine.store import kept, pack, vars_of
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
    predictions: bytes | None
    """The content of predictions.npz."""


@dataclass
class _Attempt:
    """What is known of one run while it is carried out."""

    run: Run
    data: Dataset
    status: Status = "completed"
    error: str | None = None
    posterior: Posterior | None = None
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    predictions: dict[str, tuple[Predictive, torch.Tensor]] = field(default_factory=dict)
    diagnostics: dict[str, float] = field(default_factory=dict)
    predict_seconds: float = 0.0

    def give_up(self, error: BaseException) -> None:
        self.status = "diverged" if isinstance(error, InferenceDiverged) else "failed"
        lines = traceback.format_exception(error)
        self.error = str(error) if self.status == "diverged" else "".join(lines)


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
            _evaluate(attempt, task.evaluations, device)
    return [_outcome(attempt, task, fit, device) for attempt in attempts]


def _fit(attempts: Sequence[_Attempt], device: torch.device) -> None:
    """Give every attempt its posterior, or the reason why it has none."""
    batched = isinstance(attempts[0].run.method, BatchedMethod)
    alike: dict[object, list[_Attempt]] = {}
    for number, attempt in enumerate(attempts):
        shape = tuple(attempt.data.train.inputs.shape) if batched else number
        alike.setdefault(shape, []).append(attempt)
    for together in alike.values():
        try:
            posteriors = _posteriors(together, device)
        except (Exception, SystemExit) as error:
            posteriors = [error] * len(together)
        for attempt, posterior in zip(together, posteriors, strict=True):
            if isinstance(posterior, BaseException):
                attempt.give_up(posterior)
            else:
                attempt.posterior = posterior


def _posteriors(
    attempts: Sequence[_Attempt], device: torch.device
) -> Sequence[Posterior | BaseException]:
    """Return what the method gives; raises where that is not one posterior a problem."""
    method = attempts[0].run.method
    train = {id(a.data): a.data.train.to(device) for a in attempts}  # seeds of a fold share it
    problems = [Problem(train[id(a.data)], a.data.likelihood, a.run.architecture) for a in attempts]
    rngs = [stream("fit", a.run.source, a.run.fold, a.run.seed, device=device) for a in attempts]
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


def _evaluate(attempt: _Attempt, evaluations: Sequence[Evaluation], device: torch.device) -> None:
    """Predict and score every condition, until one fails."""
    for evaluation in evaluations:
        split = evaluation.condition.select(attempt.data)
        try:
            _predict(attempt, evaluation, split, device)
        except (Exception, SystemExit) as error:
            attempt.give_up(error)
            return


def _predict(attempt: _Attempt, evaluation: Evaluation, split: Split, device: torch.device) -> None:
    run, name = attempt.run, evaluation.condition.name
    assert attempt.posterior is not None
    attempt.diagnostics = {n: float(v) for n, v in attempt.posterior.diagnostics.items()}
    rng = stream("predict", run.source, run.fold, run.seed, name, device=device)
    with _stopwatch(device) as watch, unchanged(split):
        prediction = attempt.posterior.predict(split.inputs.to(device), rng)
    attempt.predict_seconds += watch.seconds
    prediction = kept(_on_cpu(prediction))
    if any(tensor.isnan().any() for tensor in vars_of(prediction).values()):
        raise InferenceDiverged(f"predicts NaN under the condition {name}")
    check(prediction)
    target = attempt.data.target and dataclasses.asdict(attempt.data.target)
    attempt.scores[name] = score(prediction, split.targets, evaluation.metrics, target)
    attempt.predictions[name] = (prediction, split.targets)


def _outcome(attempt: _Attempt, task: Task, fit: SimpleNamespace, device: torch.device) -> Outcome:
    data, done = attempt.data, attempt.status == "completed"
    record = Record(
        **_identity(attempt.run, task),
        origin=data.origin,
        status=attempt.status,
        error=attempt.error,
        scores=attempt.scores if done else {},
        condition_origins={e.condition.name: e.condition.origin(data) for e in task.evaluations},
        diagnostics=attempt.diagnostics,
        cost=Cost(fit.seconds, attempt.predict_seconds, fit.bytes, len(task.runs)),
        facts=data.facts,
        provenance=provenance(device),
        target=dataclasses.asdict(data.target) if data.target else None,
    )
    return Outcome(record, pack(attempt.predictions) if done else None)


def lost(task: Task, reason: str) -> list[Outcome]:
    """Return the outcomes of a task whose process died: failed runs with the reason."""
    record = partial(
        Record,
        origin=task.runs[0].source.origin,
        status="failed",
        error=reason,
        scores={},
        condition_origins={},
        diagnostics={},
        cost=None,
        facts={},
        provenance=provenance(torch.device(task.device)),
    )
    return [Outcome(record(**_identity(run, task)), None) for run in task.runs]


def _identity(run: Run, task: Task) -> dict[str, Any]:
    """Return the fields of a record that say which run it is."""
    return {
        "key": run.key,
        "suite": run.suite,
        "profile": run.profile,
        "dataset": run.source.name,
        "method": run.label,
        "fold": run.fold,
        "seed": run.seed,
        "run": run.description,
        "reproduces": tuple(dataclasses.asdict(r) for r in task.reproduces),
    }


def _on_cpu(prediction: Predictive) -> Predictive:
    """Return the prediction with its tensors on the CPU."""
    return type(prediction)(**{n: t.cpu() for n, t in vars_of(prediction).items()})


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
