"""Scores that a suite adds to records of finished runs, and the truths that they need."""

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, Literal, NoReturn, Protocol, runtime_checkable

from bnnbench.engine.records.record import Record
from bnnbench.engine.store.store import CorruptRecord, Store

Values = Mapping[str, Mapping[str, float]]
"""condition → metric → value"""
Reasons = Mapping[str, Mapping[str, str]]
"""condition → metric → reason for a missing value"""

Role = Literal["compared", "dropped", "left"]
"""`compared`: gets scores. `dropped`: loses those that it has. `left`: stays as it is."""


@runtime_checkable
class Truth(Protocol):
    """A reference with which the predictions of a case and fold are compared."""

    @property
    def metrics(self) -> Mapping[str, Any]: ...

    @property
    def title(self) -> str: ...

    @property
    def doubt(self) -> str: ...

    def role(self, record: Record) -> Role: ...

    def identity(self, record: Record) -> Mapping[str, str] | None: ...

    def scores(self, record: Record, store: Store) -> tuple[Values, Reasons]: ...


Skip = Callable[[CorruptRecord], object]
"""A function that takes the error of a run that is left unchanged."""


def raise_it(error: CorruptRecord) -> NoReturn:
    """Raise the error, so that no run is left unchanged."""
    raise error


def update(
    store: Store,
    records: Iterable[Record],
    completed: Callable[[Record], Record],
    skip: Skip = raise_it,
) -> int:
    """Rewrite the records that `completed` changes, and return their number.

    A run whose predictions are damaged is passed to `skip`.
    """
    changed = 0
    for record in records:
        try:
            new = completed(record)
        except CorruptRecord as error:
            skip(error)
            continue
        if new != record:
            store.rewrite(new)
            changed += 1
    return changed


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


def is_answered(record: Record, metrics: Iterable[str]) -> bool:
    """Return whether under some condition each metric has a value, or a reason why not."""
    return any(
        {*record.outcome.scores.get(condition, {}), *record.outcome.unanswered.get(condition, {})}
        >= set(metrics)
        for condition in {*record.outcome.scores, *record.outcome.unanswered}
    )


def _others(of: Mapping[str, Any], metrics: Container[str]) -> dict[str, Any]:
    return {name: value for name, value in of.items() if name not in metrics}
