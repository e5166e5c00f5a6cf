"""Compute missing scores from stored predictions."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from torch import Tensor

from bnnbench.engine.records.record import Record
from bnnbench.engine.run.packing import NotImported
from bnnbench.engine.run.score import Scores, score, third_party_reason
from bnnbench.engine.store.rescoring.added import Skip, raise_it, update
from bnnbench.engine.store.store import Store
from bnnbench.methods.predictions.base import Predictive


def rescore(
    store: Store,
    metrics: Mapping[str, Iterable[str]],
    keys: Iterable[str] | None = None,
    skip: Skip = raise_it,
) -> int:
    """Add missing metrics to records, without fitting; return the number of changed records.

    `metrics` are by condition; `keys` limits the records. Earlier rounds of active learning without
    stored predictions get none. A run whose predictions are missing or incomplete is passed to
    `skip`, which by default raises the error.
    """
    records = map(store.read, store.run_keys() if keys is None else keys)
    completed = partial(_completed, metrics=metrics, store=store)
    return update(store, filter(None, records), completed, skip)


def _scored(
    prediction: Predictive, targets: Tensor, names: list[str], target: Mapping[str, Any] | None
) -> Scores:
    try:
        return score(prediction, targets, names, target)
    except Exception as error:
        return Scores({}, dict.fromkeys(names, third_party_reason(prediction, error)))


def _lacking(record: Record, metrics: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return condition → requested metrics that the record lacks."""
    lacking = {
        condition: [
            name
            for name in metrics.get(condition, ())
            if name not in scores and name not in record.outcome.unanswered.get(condition, {})
        ]
        for condition, scores in record.outcome.scores.items()
    }
    return {condition: names for condition, names in lacking.items() if names}


def _completed(record: Record, metrics: Mapping[str, Iterable[str]], store: Store) -> Record:
    lacking = _lacking(record, metrics)
    if not lacking:
        return record
    try:
        predictions = store.predictions(record.key)
    except NotImported:
        return record
    scores = {
        condition: dict(of_condition) for condition, of_condition in record.outcome.scores.items()
    }
    unanswered = {
        condition: dict(of_condition)
        for condition, of_condition in record.outcome.unanswered.items()
    }
    for condition, names in lacking.items():
        if condition in predictions or not record.run.get("acquisition"):
            added = _scored(*predictions[condition], names, record.circumstances.target)
            scores[condition] |= added.values
            if added.unanswered:
                unanswered[condition] = unanswered.get(condition, {}) | dict(added.unanswered)
    return record.with_outcome(scores=scores, unanswered=unanswered)
