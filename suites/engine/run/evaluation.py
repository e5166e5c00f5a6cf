"""Posteriors are asked to predict under every condition, and scored; probes measure the rest."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import torch

from bnnbench.datasets.base import Split
from bnnbench.methods.base import InferenceDiverged, NotDifferentiable, Posterior, differentiable
from bnnbench.methods.predictions.base import Predictive
from bnnbench.metrics import ATTACKED
from bnnbench.suites.engine.declare.attacks import Attack
from bnnbench.suites.engine.declare.grid import Evaluation
from bnnbench.suites.engine.declare.probe import checked
from bnnbench.suites.engine.run.attempt import Attempt
from bnnbench.suites.engine.run.fingerprint import fingerprint
from bnnbench.suites.engine.run.guard import check, unchanged
from bnnbench.suites.engine.run.packing import kept, vars_of
from bnnbench.suites.engine.run.score import on_scale, score
from bnnbench.suites.engine.run.stopwatch import stopwatch
from bnnbench.suites.engine.run.streams import stream


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
            attempt.record_failure(error)
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
    scores = score(prediction, split.targets, evaluation.metrics, target)
    attempt.scores[name] = {**scores.values, **extra}
    if scores.unanswered:
        attempt.unanswered[name] = dict(scores.unanswered)
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
            attempt.record_failure(error)
            return
        attempt.scores |= measured
        attempt.probed += tuple(measured)


def _diagnose(attempt: Attempt, posterior: Posterior) -> None:
    """Take the last fit's diagnostics; `converged` is the least of all fits."""
    earlier = attempt.diagnostics.get("converged", math.inf)
    attempt.diagnostics = {name: float(v) for name, v in posterior.diagnostics.items()}
    if "converged" in attempt.diagnostics:
        attempt.diagnostics["converged"] = min(earlier, attempt.diagnostics["converged"])


def _on_cpu(prediction: Any) -> Predictive:
    """Return the prediction with its arrays on the CPU; raises TypeError for what is none."""
    arrays = {name: array.cpu() for name, array in vars_of(prediction).items()}
    return type(prediction).unpack(arrays)
