"""A run while it is carried out: fitted, asked to predict, given further rows."""

import dataclasses
import math
import time
import traceback
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import torch

from datasets.base import Dataset, PoolSource, Split
from methods.base import (
    BatchedMethod,
    InferenceDiverged,
    NotDifferentiable,
    Posterior,
    Problem,
    differentiable,
)
from methods.predictive import Predictive
from metrics import ATTACKED
from suites.engine import checkpoints, memory
from suites.engine.acquisition import acquire, choices
from suites.engine.attacks import Attack
from suites.engine.fingerprint import fingerprint
from suites.engine.grid import Evaluation, Run
from suites.engine.guard import check, unchanged
from suites.engine.packing import kept, kept_of_earlier, vars_of
from suites.engine.probe import checked
from suites.engine.record import Status
from suites.engine.score import on_scale, score
from suites.engine.streams import stream


@dataclass
class Attempt:
    """What is known of one run while it is carried out."""

    run: Run
    start: Dataset
    """What the run begins with; its target's scale is that of all predictions it keeps."""
    acquired: tuple[int, ...] = ()
    data: Dataset = field(init=False)
    """What the posterior is fitted to."""
    status: Status = "completed"
    error: str | None = None
    posterior: Posterior | None = None
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    not_scored: dict[str, str] = field(default_factory=dict)
    """Condition → why this posterior has no predictions under it."""
    probed: tuple[str, ...] = ()
    """Conditions whose scores are measurements of probes."""
    predictions: dict[str, tuple[Predictive, torch.Tensor]] = field(default_factory=dict)
    """What the store will keep."""
    condition_data: dict[str, str] = field(default_factory=dict)
    """Condition → checksum of what the posterior was asked about."""
    diagnostics: dict[str, float] = field(default_factory=dict)
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0
    peak_bytes: float = 0.0
    interruptions: dict[str, object] = field(default_factory=dict)
    """How often the fits went on from a checkpoint, and which checkpoints were of no use."""

    def __post_init__(self) -> None:
        self.data = self.start

    def give_up(self, error: BaseException) -> None:
        self.status = "diverged" if isinstance(error, InferenceDiverged) else "failed"
        lines = traceback.format_exception(error)
        self.error = str(error) if self.status == "diverged" else "".join(lines)


def going(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Return the attempts that have not failed so far."""
    return [attempt for attempt in attempts if attempt.status == "completed"]


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
        attempt.give_up(error)
        return
    attempt.predict_seconds += watch.seconds
    attempt.acquired += chosen
    attempt.data = run.source.grown(run.fold, attempt.acquired)
    attempt.predictions = kept_of_earlier(attempt.predictions)


def fit(
    attempts: Sequence[Attempt], number: int, device: torch.device, folder: Path | None = None
) -> None:
    """Fit, and charge each attempt an equal share of time and memory.

    `number` counts the fits of a run from 0. Fits that go on from a checkpoint in `folder` cost
    what they did before, too.
    """
    if not attempts:
        return
    runs, train = [a.run for a in attempts], [a.data.train for a in attempts]
    with (
        memory.growth(device) as grown,
        stopwatch(device) as watch,
        checkpoints.place(folder, runs, number, train, device, grown.so_far) as place,
    ):
        _fit_all(attempts, number, device)
    seconds = watch.seconds + place.earlier_seconds
    peak = max(grown.bytes, place.earlier_peak_bytes)
    for attempt in attempts:
        attempt.fit_seconds += seconds / len(attempts)
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
                attempt.give_up(posterior)
            else:
                attempt.posterior = posterior


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


def evaluate(attempt: Attempt, evaluations: Sequence[Evaluation], device: torch.device) -> None:
    """Predict and score every condition, until one fails.

    Under an attack that cannot follow a posterior's gradient, it is not scored and goes on.
    """
    for evaluation in evaluations:
        split = evaluation.condition.select(attempt.data)
        attempt.condition_data[evaluation.condition.name] = fingerprint(split)
        try:
            _predict(attempt, evaluation, split, device, len(evaluations))
        except NotDifferentiable as reason:
            attempt.not_scored[evaluation.condition.name] = str(reason)
        except (Exception, SystemExit) as error:
            attempt.give_up(error)
            return


def _predict(
    attempt: Attempt, evaluation: Evaluation, split: Split, device: torch.device, conditions: int
) -> None:
    run, condition, name = attempt.run, evaluation.condition, evaluation.condition.name
    assert attempt.posterior is not None
    _diagnose(attempt, attempt.posterior)
    inputs, extra = split.inputs, {}
    if isinstance(condition, Attack):
        inputs, extra = _attacked(attempt, condition, split, device)
    # Sizes of an attack have draws in common: what differs between them is no chance.
    draws = condition.family if isinstance(condition, Attack) else name
    rng = stream("predict", run.source, run.fold, run.seed, draws, device=device)
    with stopwatch(device) as watch, unchanged(split):
        prediction = attempt.posterior.predict(inputs.to(device), rng)
    attempt.predict_seconds += watch.seconds
    prediction = kept(_on_cpu(prediction), conditions)
    if any(tensor.isnan().any() for tensor in vars_of(prediction).values()):
        raise InferenceDiverged(f"predicts NaN under the condition {name}")
    check(prediction)
    own, first = attempt.data.target, attempt.start.target
    if own and first and own != first:
        prediction = on_scale(prediction, own, first)
        split = evaluation.condition.select(attempt.start)
    target = first and dataclasses.asdict(first)
    attempt.scores[name] = score(prediction, split.targets, evaluation.metrics, target) | extra
    attempt.predictions[name] = (prediction, split.targets)


def _attacked(
    attempt: Attempt, attack: Attack, split: Split, device: torch.device
) -> tuple[torch.Tensor, dict[str, float]]:
    """Return the inputs that an attack makes, and scores of the gradient that it followed.

    A surrogate is attacked alike whatever the method and the seed, and not scored.
    """
    run = attempt.run
    assert attempt.posterior is not None
    if attack.surrogate:
        followed = attack.surrogate.fitted(run.source, run.fold, device)
        rng = stream("attack", run.source, run.fold, attack.family, device=device)
    else:
        followed = differentiable(attempt.posterior)
        rng = stream("attack", run.source, run.fold, run.seed, attack.family, device=device)
    with unchanged(split):
        found = attack.perturbed(followed, split.to(device), attempt.data.scaling, rng)
    if attack.surrogate:
        return found.inputs, {}
    gradient = found.gradient.cpu()
    scores = {n: float(m.score(gradient, split.targets).mean()) for n, m in ATTACKED.items()}
    return found.inputs, scores


def probe(attempt: Attempt, device: torch.device) -> None:
    """Measure what the suite wants to know of the posterior, until one probe fails."""
    run, data = attempt.run, attempt.data
    for number, one in enumerate(run.probes):
        rng = stream("probe", run.source, run.fold, run.seed, number, device=device)
        try:
            with unchanged(data.train, data.test):
                measured = one.measure(attempt.posterior, data, rng)
            measured = checked(measured, attempt.scores)
        except (Exception, SystemExit) as error:
            attempt.give_up(error)
            return
        attempt.scores |= measured
        attempt.probed += tuple(measured)


def _diagnose(attempt: Attempt, posterior: Posterior) -> None:
    """Take the last fit's diagnostics; `converged` is the least of all fits."""
    earlier = attempt.diagnostics.get("converged", math.inf)
    attempt.diagnostics = {name: float(v) for name, v in posterior.diagnostics.items()}
    if "converged" in attempt.diagnostics:
        attempt.diagnostics["converged"] = min(earlier, attempt.diagnostics["converged"])


def _on_cpu(prediction: Predictive) -> Predictive:
    """Return the prediction with its tensors on the CPU."""
    return type(prediction)(**{n: t.cpu() for n, t in vars_of(prediction).items()})


@contextmanager
def stopwatch(device: torch.device):
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
