"""Evaluation of posteriors: predictions and scores under every condition, and probes."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import torch

from bnnbench.datasets.base import Split
from bnnbench.datasets.reading import cache
from bnnbench.engine.declare.attacks import Attack
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.engine.declare.probe import checked
from bnnbench.engine.run.attempt import Attempt, blaming, message, reload_changed_data
from bnnbench.engine.run.guards.batch_dependence import unsteadiness
from bnnbench.engine.run.guards.data_guard import CHANGED, DataChanged, sound, unchanged
from bnnbench.engine.run.guards.isolation import read_only
from bnnbench.engine.run.guards.validation import check, check_fields, check_finite, check_scores
from bnnbench.engine.run.measuring.fingerprint import fingerprint
from bnnbench.engine.run.measuring.stopwatch import stopwatch
from bnnbench.engine.run.packing import stored_form, vars_of
from bnnbench.engine.run.score import check_kind, on_scale, score
from bnnbench.engine.run.streams import stream
from bnnbench.methods.base import NotDifferentiable, Posterior, differentiable
from bnnbench.methods.predictions.base import Predictive
from bnnbench.metrics import ATTACKED


def evaluate(attempt: Attempt, evaluations: Sequence[Evaluation], device: torch.device) -> None:
    """Predict and score every condition, until one fails.

    A posterior is not scored under an attack that cannot follow its gradient.
    """
    reload_changed_data([attempt])
    for evaluation in evaluations:
        name, split = evaluation.condition.name, evaluation.condition.select(attempt.data)
        if not sound(split):  # by another run of this data set, which has failed
            cache.forget()
            split = evaluation.condition.select(attempt.data)
        attempt.condition_data[name] = fingerprint(split)
        with blaming(attempt):
            try:
                _predict(attempt, evaluation, split, device, len(evaluations))
            except NotDifferentiable as reason:
                attempt.not_scored[name] = message(reason)
        if attempt.status != "completed":
            return
    if not sound(attempt.data.train, attempt.data.test):
        attempt.record_failure(DataChanged(CHANGED))


def _predict(
    attempt: Attempt, evaluation: Evaluation, split: Split, device: torch.device, conditions: int
) -> None:
    run, condition, name = attempt.run, evaluation.condition, evaluation.condition.name
    assert attempt.posterior is not None
    _diagnose(attempt, attempt.posterior)
    tested, inputs, extra = split, split.inputs, {}
    if isinstance(condition, Attack):
        inputs, extra = _attacked(attempt, condition, split, device)
    # Sizes of an attack share their draws, so that they differ by nothing but the size.
    draws = condition.family if isinstance(condition, Attack) else name
    posterior, names = attempt.posterior, (run.source, run.fold, run.seed, draws)

    def predicted(rows: torch.Tensor) -> Any:
        rows = read_only(rows) if attempt.keeper else rows
        return posterior.predict(rows.to(device), stream("predict", *names, device=device))

    with stopwatch(device) as watch, unchanged(split):
        prediction = predicted(inputs)
    attempt.predict_seconds += watch.seconds
    attempt.predict_cpu_seconds += watch.cpu_seconds
    check_fields(prediction)
    answer, prediction = prediction, stored_form(_on_cpu(prediction), conditions)
    check_kind(prediction, split.targets)
    check_finite(prediction, vars_of(prediction), f"under the condition {name}")
    check(prediction, len(split), attempt.data.columns)
    scale, first_scale = attempt.data.target, attempt.start.target
    if scale and first_scale and scale != first_scale:
        prediction = on_scale(prediction, scale, first_scale)
        split = evaluation.condition.select(attempt.start)
    target = first_scale and dataclasses.asdict(first_scale)
    scores = score(prediction, split.targets, evaluation.metrics, target)
    check_scores(scores.values, name)
    attempt.scores[name] = {**scores.values, **extra}
    if scores.unanswered:
        attempt.unanswered[name] = dict(scores.unanswered)
    attempt.predictions[name] = (prediction, split.targets)
    with unchanged(tested):
        if reason := unsteadiness(predicted, inputs, answer, stream("company", *names)):
            attempt.unsteady[name] = reason


def _attacked(
    attempt: Attempt, attack: Attack, split: Split, device: torch.device
) -> tuple[torch.Tensor, dict[str, float]]:
    """Return the inputs of an attack, and scores of the gradient that it followed.

    An attack on a surrogate is the same for all methods and seeds, and has no such scores.
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
        attacked = attack.perturbed(followed, split.to(device), attempt.data.scaling, rng)
    if attack.surrogate:
        return attacked.inputs, {}
    gradient = attacked.gradient.cpu()
    scores = {n: float(m.score(gradient, split.targets).mean()) for n, m in ATTACKED.items()}
    return attacked.inputs, scores


def probe(attempt: Attempt, device: torch.device) -> None:
    """Measure the posterior with the suite's probes, until one fails."""
    run, data = attempt.run, attempt.data
    for number, measurement in enumerate(run.probes):
        rng = stream("probe", run.source, run.fold, run.seed, number, device=device)
        with blaming(attempt):
            with unchanged(data.train, data.test):
                measured = measurement.measure(attempt.posterior, data, rng)
            attempt.scores |= checked(measured, attempt.scores)
            attempt.probed |= {name: one.traits for name, one in measured.items()}
        if attempt.status != "completed":
            return


def _diagnose(attempt: Attempt, posterior: Posterior) -> None:
    """Store the last fit's diagnostics; `converged` is the least of all fits."""
    earlier = attempt.diagnostics.get("converged", math.inf)
    diagnostics = posterior.diagnostics
    if odd := [type(name).__name__ for name in diagnostics if not isinstance(name, str)]:
        raise TypeError(f"needed names of diagnostics as text; got a {odd[0]}")
    attempt.diagnostics = {name: _number(value) for name, value in diagnostics.items()}
    if "converged" in attempt.diagnostics:
        attempt.diagnostics["converged"] = min(earlier, attempt.diagnostics["converged"])


def _number(value: Any) -> float:
    return float(value.detach() if isinstance(value, torch.Tensor) else value)


def _on_cpu(prediction: Any) -> Predictive:
    """Return the prediction with its arrays on the CPU; raises TypeError for anything else."""
    arrays = {name: array.cpu() for name, array in vars_of(prediction).items()}
    return type(prediction).unpack(arrays)
