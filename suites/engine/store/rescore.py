"""Scores that a record lacks, computed from the predictions that were kept."""

import dataclasses
from collections.abc import Iterable, Mapping

from bnnbench.suites.engine.run.packing import NotImported
from bnnbench.suites.engine.run.score import score
from bnnbench.suites.engine.store.record import Record
from bnnbench.suites.engine.store.store import Store


def rescore(
    store: Store,
    metrics: Mapping[str, Iterable[str]],
    keys: Iterable[str] | None = None,
) -> int:
    """Add the metrics that records lack, without fitting, and return how many changed.

    `metrics` names them by condition; `keys` limits the records. Earlier rounds of active
    learning whose predictions were not kept stay without. Raises `Damaged` where predictions
    are missing or not whole.
    """
    changed = 0
    for key in store.run_keys() if keys is None else keys:
        record = store.read(key)
        if record and (lacking := _lacking(record, metrics)):
            completed = _completed(record, lacking, store)
            if completed != record:
                store.rewrite(completed)
                changed += 1
    return changed


def _lacking(record: Record, metrics: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return condition → metrics asked for and not in the record."""
    lacking = {
        condition: [
            name
            for name in metrics.get(condition, ())
            if name not in scores and name not in record.unanswered.get(condition, {})
        ]
        for condition, scores in record.scores.items()
    }
    return {condition: names for condition, names in lacking.items() if names}


def _completed(record: Record, lacking: Mapping[str, list[str]], store: Store) -> Record:
    try:
        predictions = store.predictions(record.key)
    except NotImported:
        return record
    scores = {condition: dict(known) for condition, known in record.scores.items()}
    unanswered = {condition: dict(known) for condition, known in record.unanswered.items()}
    for condition, names in lacking.items():
        if condition in predictions or not record.run.get("acquisition"):
            added = score(*predictions[condition], names, record.target)
            scores[condition] |= added.values
            if added.unanswered:
                unanswered[condition] = unanswered.get(condition, {}) | dict(added.unanswered)
    return dataclasses.replace(record, scores=scores, unanswered=unanswered)
