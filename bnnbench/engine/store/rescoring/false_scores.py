"""Scores of a record compared with the scores of its stored predictions."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from bnnbench.engine.records.record import Record
from bnnbench.engine.run.packing import Predictions
from bnnbench.engine.run.score import score
from bnnbench.engine.store.rescoring.distances import named_truths
from bnnbench.engine.store.store import Store
from bnnbench.metrics import METRICS, PROBED

ROUNDING = 1e-4
"""Tolerance for relative differences between processors and libraries."""


def false_scores(store: Store, record: Record, complete: bool = False) -> list[str]:
    """Return a phrase for each score that differs from the score of the stored predictions.

    If scores are to be `complete`, there is one also for each that the record leaves unanswered
    though the predictions have it.

    Not checked: scores of probes and attacks, which need the posterior, and of earlier rounds of
    active learning, stored as summaries if at all. Raises `NotImported` if the predictions are of a
    third-party class that this process has not imported, and `CorruptRecord` if they are missing or
    incomplete.
    """
    predictions = store.predictions(record.key) if record.outcome.predictions_sha256 else {}
    try:
        computed = _computed(record, predictions, complete)
        for truth in named_truths(record, store) if predictions else ():
            for condition, values in truth.scores(record, store)[0].items():
                computed[condition] = {**computed.get(condition, {}), **values}
    except Exception as error:  # of any kind, for predictions that do not fit their targets
        return [f"its predictions cannot be scored: {error!r}"]
    return [
        *_without_predictions(record, predictions),
        *_differences(record, computed, complete),
        *_false_choice(record),
    ]


def _false_choice(record: Record) -> Iterator[str]:
    """Yield a phrase if the search, evaluated again, chooses another trial or length."""
    if record.outcome.search is None:
        return
    from bnnbench.methods.tuning.search import Search

    try:
        search = Search.from_data(record.outcome.search)
        trial = search.ranking[int(record.outcome.diagnostics["skipped_settings"])]
        rung = search.best_lengths[trial]
        assert rung is not None
    except (ValueError, KeyError, IndexError) as error:
        yield f"its search cannot be read: {error!r}"
        return
    length = search.lengths[rung]
    chosen = (
        record.outcome.diagnostics.get("chosen_trial"),
        record.outcome.diagnostics.get("chosen_length"),
    )
    if chosen != (trial, length):
        yield f"its search chooses trial {trial} at length {length}, not trial {chosen[0]}"
    for path, value in search.settings[trial].items():
        recorded = record.outcome.diagnostics.get(f"chosen_{path}", math.nan)
        if isinstance(value, float) and not math.isclose(recorded, value, rel_tol=1e-6):
            yield f"its {path} is not that of trial {trial}"


def _computed(
    record: Record, predictions: Predictions, complete: bool
) -> dict[str, Mapping[str, float | None]]:
    """Return condition → metric → value; None if the predictions do not support the metric."""
    computed: dict[str, Mapping[str, float | None]] = {}
    for condition, (prediction, targets) in predictions.items():
        if not (_is_earlier_round(record, condition) and hasattr(prediction, "summary")):
            asked = dict(record.outcome.scores.get(condition, {}))
            asked |= dict.fromkeys(record.outcome.unanswered.get(condition, {}) if complete else ())
            names = [name for name in asked if name in METRICS]
            scores = score(prediction, targets, names, record.circumstances.target)
            computed[condition] = {**dict.fromkeys(scores.unanswered), **scores.values}
    return computed


def _without_predictions(record: Record, predictions: Predictions) -> Iterator[str]:
    for condition, scores in record.outcome.scores.items():
        believed = scores.keys() <= PROBED.keys() or _is_earlier_round(record, condition)
        if condition not in predictions and not believed:
            yield f"{condition} has scores without predictions"


def _differences(
    record: Record, computed: Mapping[str, Mapping[str, float | None]], complete: bool
) -> Iterator[str]:
    for condition, values in computed.items():
        for name, value in values.items():
            recorded = record.outcome.scores.get(condition, {}).get(name)
            if recorded is not None and not _close(recorded, value):
                yield f"{name} under {condition} is {recorded:.6g} and not {_text(value)}"
            elif recorded is None and complete and value is not None:
                yield f"{name} under {condition} is left out and is {_text(value)}"


def _close(recorded: float, value: float | None) -> bool:
    if value is None or math.isnan(recorded) or math.isnan(value):
        return value is not None and math.isnan(recorded) and math.isnan(value)
    return math.isclose(recorded, value, rel_tol=ROUNDING, abs_tol=ROUNDING**2)


def _text(value: float | None) -> str:
    return "defined" if value is None else f"{value:.6g}"


def _is_earlier_round(record: Record, condition: str) -> bool:
    """Return whether a condition is scored before the last fit of active learning."""
    rounds = {name: _acquisitions(record, name) for name in record.circumstances.condition_traits}
    last = max(rounds.values(), default=0)
    return bool(record.run.get("acquisition")) and rounds.get(condition, 0) < last


def _acquisitions(record: Record, condition: str) -> Any:
    return record.circumstances.condition_traits[condition].get("acquisitions") or 0
