"""Scores that are means of others: over corruptions, at each severity."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from bnnbench.datasets.conditions.base import ORIGINS
from bnnbench.datasets.conditions.corrupted import means
from bnnbench.suites.engine.store.record import Record


def with_means(record: Record) -> Record:
    """Return the record with the mean of each score over corruptions, under a condition of its own.

    Its origin is the least of its parts'.
    """
    found = means(record.scores)
    if not found:
        return record
    scores = {name: _mean([record.scores[p] for p in parts]) for name, parts in found.items()}
    origins = {
        name: max((record.condition_origins[p] for p in parts), key=ORIGINS.index)
        for name, parts in found.items()
    }
    return replace(
        record,
        scores={**record.scores, **scores},
        condition_origins={**record.condition_origins, **origins},
    )


def _mean(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each metric that all have."""
    return {
        name: fmean(one[name] for one in scores)
        for name in scores[0]
        if all(name in one for one in scores)
    }
