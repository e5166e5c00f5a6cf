"""The predictions of methods for test examples, averaged over seeds; torch is imported on use."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Shaped
from numpy import ndarray

from bnnbench.engine.records.record import Record
from bnnbench.engine.store.store import Store
from bnnbench.reports.read.predictions.readable import predictions_of

Kind = Literal["classes", "reals"]
"""Classes, or real numbers as targets."""


@dataclass(frozen=True)
class Predicted:
    """One method's predictions for the test examples of a fold."""

    kind: Kind
    seeds: tuple[int, ...]
    targets: Shaped[ndarray, " examples"]
    """Numbers of classes, or real numbers in their unit."""
    answers: Float[ndarray, "examples values"]
    """Probabilities of the classes, or mean and standard deviation in the target's unit, of the
    mixture of all seeds' predictions."""
    scores: Float[ndarray, " examples"]
    """The mean over seeds of the log probability (or log density) of the target, in nats."""


Folds = Mapping[int, Predicted]


@dataclass
class _Sums:
    """Sums over the seeds of a fold."""

    kind: Kind
    targets: ndarray
    answers: ndarray
    scores: ndarray
    seeds: list[int] = field(default_factory=list)


def predicted(
    store: Store, runs: Iterable[Record], conditions: Collection[str]
) -> dict[str, dict[int, Predicted]]:
    """Return condition → fold → the predictions of a method's completed runs.

    Runs without readable predictions are left out, and predictions without log score, probabilities
    and moments. If runs were tested on different targets, the first targets count.
    """
    sums: dict[str, dict[int, _Sums]] = {}
    for record in runs:
        if record.outcome.status != "completed":
            continue
        predictions = predictions_of(store, record) or {}
        for condition in conditions:
            if condition not in predictions:
                continue
            try:
                one = _summands(*predictions[condition], record.circumstances.target)
            except (ValueError, AttributeError):  # not available
                continue
            if one:
                _add(sums.setdefault(condition, {}), record, one)
    return {c: {fold: _mean(of[fold]) for fold in sorted(of)} for c, of in sums.items()}


def _add(folds: dict[int, _Sums], record: Record, one: _Sums) -> None:
    total = folds.setdefault(record.fold, one)
    if not np.array_equal(total.targets, one.targets) or total.answers.shape != one.answers.shape:
        return
    if total is not one:
        total.answers += one.answers
        total.scores += one.scores
    total.seeds.append(record.seed)


def _summands(prediction: Any, targets: Any, scale: Mapping[str, Any] | None) -> _Sums | None:
    """Return one run's terms: probabilities, or moments of the target's error; None for others.

    Moments about the target lose no digits if the target is large and its spread small.
    """
    from bnnbench.engine.run.score import rescaled
    from bnnbench.methods.predictions.base import HasLogProb, HasMoments, HasProbabilities

    if not targets.is_floating_point():
        if not isinstance(prediction, HasProbabilities):
            return None
        answers = prediction.mixture_log_probs.double().exp()
        return _finite("classes", targets, answers, prediction.log_prob(targets))
    if scale and not hasattr(prediction, "rescaled"):
        return None
    if not (isinstance(prediction, HasMoments) and isinstance(prediction, HasLogProb)):
        return None
    targets = targets.double()
    if scale:
        mean, std = float(scale["mean"]), float(scale["std"])
        prediction, targets = rescaled(prediction, mean, std), mean + std * targets
    if targets.shape[1:] != (1,):
        return None
    error = prediction.mean.double() - targets
    squares = prediction.variance.double() + error.square()
    moments = error.new_empty(len(error), 2)
    moments[:, :1], moments[:, 1:] = error, squares
    return _finite("reals", targets[:, 0], moments, prediction.log_prob(targets))


def _finite(kind: Kind, targets: Any, answers: Any, scores: Any) -> _Sums | None:
    """Return the terms as arrays; None if an answer is not finite, or a score is NaN."""
    arrays = (part.detach().cpu().numpy() for part in (targets, answers, scores.double()))
    targets, answers, scores = arrays
    if not np.isfinite(answers).all() or np.isnan(scores).any():
        return None
    return _Sums(kind, targets, answers.copy(), scores.copy())


def _mean(sums: _Sums) -> Predicted:
    answers, scores = sums.answers / len(sums.seeds), sums.scores / len(sums.seeds)
    if sums.kind == "reals":
        error, square = answers.T
        deviation = np.sqrt(np.maximum(square - error**2, 0.0))
        answers = np.stack([sums.targets + error, deviation], 1)
    return Predicted(sums.kind, tuple(sorted(sums.seeds)), sums.targets, answers, scores)


def joined(folds: Folds, chosen: Sequence[int]) -> Predicted:
    """Return the predictions of several folds one after the other."""
    parts = [folds[fold] for fold in chosen]
    return Predicted(
        parts[0].kind,
        tuple(sorted({seed for part in parts for seed in part.seeds})),
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("targets", "answers", "scores")
        ),
    )
