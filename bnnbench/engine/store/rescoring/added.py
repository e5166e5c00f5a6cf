"""Scores that a suite adds to records of finished runs, and reasons for missing scores."""

from collections.abc import Container, Iterable, Mapping
from typing import Any

from bnnbench.engine.records.record import Record

Values = Mapping[str, Mapping[str, float]]
"""condition → metric → value"""
Reasons = Mapping[str, Mapping[str, str]]
"""condition → metric → reason for a missing value"""


def without(record: Record, metrics: Container[str]) -> Record:
    """Return the record without scores by these metrics and reasons for missing ones."""
    return record.with_outcome(
        scores={c: _others(of, metrics) for c, of in record.outcome.scores.items()},
        unanswered={
            c: left for c, of in record.outcome.unanswered.items() if (left := _others(of, metrics))
        },
    )


def with_scores(
    record: Record, metrics: Container[str], values: Values, reasons: Reasons
) -> Record:
    """Return the record with these scores and reasons in place of its own for these metrics."""
    bare = without(record, metrics)
    conditions = {*bare.outcome.unanswered, *reasons}
    return record.with_outcome(
        scores={c: {**of, **values.get(c, {})} for c, of in bare.outcome.scores.items()},
        unanswered={
            c: both
            for c in sorted(conditions)
            if (both := {**bare.outcome.unanswered.get(c, {}), **reasons.get(c, {})})
        },
    )


def is_answered(record: Record, condition: str, metrics: Iterable[str]) -> bool:
    """Return whether each metric has a value under the condition, or a reason why not."""
    answered = {
        *record.outcome.scores.get(condition, {}),
        *record.outcome.unanswered.get(condition, {}),
    }
    return answered >= set(metrics)


def _others(of: Mapping[str, Any], metrics: Container[str]) -> dict[str, Any]:
    return {name: value for name, value in of.items() if name not in metrics}
