"""Scores averaged over corruptions, at each severity."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from bnnbench.datasets.conditions.corruption_means import means
from bnnbench.engine.records.record import Record, distance_from_official


def with_means(record: Record) -> Record:
    """Return the record with means over corruptions, each as a condition.

    A mean has the least original of its parts' origins.
    """
    traits = means(record.outcome.scores)
    if not traits:
        return record
    parts = {name: one.parts for name, one in traits.items()}
    scores = {name: _mean([record.outcome.scores[part] for part in parts[name]]) for name in parts}
    origins = {
        name: max(
            (record.circumstances.condition_origins[part] for part in parts[name]),
            key=distance_from_official,
        )
        for name in parts
    }
    described = {name: one.as_data() for name, one in traits.items()}
    return record.with_outcome(scores={**record.outcome.scores, **scores}).with_circumstances(
        condition_origins={**record.circumstances.condition_origins, **origins},
        condition_traits={**record.circumstances.condition_traits, **described},
    )


def _mean(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each metric that is in all scores."""
    return {
        name: fmean(score[name] for score in scores)
        for name in scores[0]
        if all(name in score for score in scores)
    }
