"""Distances of predictions from the predictions of a suite's reference method."""

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bnnbench.datasets.reading.whole_files import read_regular
from bnnbench.engine.declare.description import canonical_json, describe
from bnnbench.engine.declare.grid import Certified, Suite, TrueFunction
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.error_texts import message
from bnnbench.engine.run.packing import NotImported
from bnnbench.engine.run.score import rescaled, third_party_reason
from bnnbench.engine.store.rescoring.added import is_answered, with_scores, without
from bnnbench.engine.store.rescoring.certified import add_certified, certified_scores
from bnnbench.engine.store.rescoring.far import add_far
from bnnbench.engine.store.store import CorruptRecord, Store
from bnnbench.methods.predictions.base import CannotAnswer, require
from bnnbench.methods.predictions.predictive import RealPredictive
from bnnbench.metrics import DISTANCES
from bnnbench.metrics.distances import Tabulated

Tell = Callable[[str], None]
"""A function that takes a line on progress."""


def add_distances(suite: Suite, store: Store, tell: Tell = lambda line: None) -> list[str]:
    """Give each record its distances to the reference, and return warnings.

    Warnings are about folds without a reference and folds whose reference did not converge.

    The reference of a fold is the run of seed 0 of the method `suite.reference`. Only this run has
    no distance, so that its other seeds show the distance between two equal methods. Distances to
    outdated predictions of the reference are replaced or dropped. Raises `CorruptRecord` if
    predictions are missing or incomplete.
    """
    if suite.reference is None:
        return []
    if isinstance(suite.reference, Certified):
        return add_certified(suite, suite.reference, store)
    if isinstance(suite.reference, TrueFunction):
        return add_far(suite, store)
    doubts: dict[tuple[str, str], list[int]] = {}
    for together in _folds(suite, store.current()):
        reference = _reference(suite.reference, together)
        compared = [record for record in together if record is not reference]
        if reference and reference.outcome.status == "completed":
            _compare(compared, reference, store, tell)
        else:
            _drop(compared, store)
        if compared and (doubt := _doubt(reference)):
            doubts.setdefault((compared[0].dataset, doubt), []).append(compared[0].fold)
    return [
        f"distances to {suite.reference} on {dataset}, fold {', '.join(map(str, folds))}: {doubt}"
        for (dataset, doubt), folds in doubts.items()
    ]


def _folds(suite: Suite, records: Iterable[Record]) -> list[list[Record]]:
    """Return the suite's records in groups of one case and fold."""
    cases = {(case.name, canonical_json(describe(case.source))) for case in suite.cases}
    groups: dict[tuple[str, str, int], list[Record]] = {}
    for record in records:
        case = record.dataset, canonical_json(record.run.get("source"))
        if record.profile == suite.profile and case in cases:
            groups.setdefault((*case, record.fold), []).append(record)
    return [groups[group] for group in sorted(groups)]


def _reference(label: str, records: Iterable[Record]) -> Record | None:
    return next((r for r in records if r.method == label and r.seed == 0), None)


def _doubt(reference: Record | None) -> str | None:
    if reference is None:
        return "none, because its seed 0 was never run"
    if reference.outcome.status != "completed":
        return ": ".join(
            filter(None, (f"none, it {reference.outcome.status}", reference.outcome.last_line))
        )
    converged = reference.outcome.diagnostics.get("converged", 1.0)
    return (
        None
        if converged
        else "it did not converge, so these are not distances to the exact posterior"
    )


def _compare(records: Iterable[Record], reference: Record, store: Store, tell: Tell) -> None:
    """Update the records' distances to the reference's present predictions."""
    identity = {"key": reference.key, "sha256": _sha256(reference, store)}
    outdated = [
        record
        for record in sorted(records, key=lambda record: (record.method, record.seed))
        if record.outcome.status == "completed"
        and not (
            record.reference == identity
            and any(
                is_answered(record, condition, DISTANCES) for condition in record.outcome.scores
            )
        )
    ]
    if not outdated:
        return
    truth, doubts = _tabulated(reference, store)
    for number, record in enumerate(outdated, 1):
        place = f"{record.dataset}, fold {record.fold}"
        progress = f"[{number}/{len(outdated)}] {record.method}, seed {record.seed}"
        tell(f"Distances to {reference.method} on {place}: {progress}")
        values: dict[str, dict[str, float]] = {}
        predictions, reasons = _tabulated(record, store)
        for condition in predictions.keys() & truth.keys():
            compared = predictions[condition], truth[condition]
            try:
                values[condition] = _distances(*compared)
            except Exception as error:
                reasons[condition] = third_party_reason(compared[0].prediction, error)
        blamed = {c: f"{reference.method}: {why}" for c, why in doubts.items()} | reasons
        no_distances = {
            condition: dict.fromkeys(DISTANCES, blamed[condition])
            for condition in blamed.keys() & record.outcome.scores.keys()
        }
        compared_record = with_scores(record, DISTANCES, values, no_distances)
        store.rewrite(dataclasses.replace(compared_record, reference=identity))


def distances_to_reference(record: Record, store: Store) -> dict[str, dict[str, float]]:
    """Return condition → distance → value, recomputed from stored predictions.

    It is empty if the reference's predictions have changed. Raises `CorruptRecord`.
    """
    identity = record.reference or {}
    if "relation" in identity:
        return certified_scores(record, store)
    key = identity.get("key")
    reference = store.read(key) if key and key in store.run_keys() else None
    if reference is None or reference.outcome.predictions_sha256 != identity.get("sha256"):
        return {}
    predictions, truth = _tabulated(record, store)[0], _tabulated(reference, store)[0]
    shared = predictions.keys() & truth.keys()
    return {condition: _distances(predictions[condition], truth[condition]) for condition in shared}


def _distances(prediction: Tabulated, truth: Tabulated) -> dict[str, float]:
    """Return distance → value, averaged over points."""
    return {name: float(m.score(prediction, truth).mean()) for name, m in DISTANCES.items()}


def _sha256(record: Record, store: Store) -> str:
    path = store.runs / record.key / "predictions.npz"
    try:
        return hashlib.sha256(read_regular(path)).hexdigest()
    except OSError as error:
        raise CorruptRecord(path, error) from error


def _drop(records: Iterable[Record], store: Store) -> None:
    for record in records:
        if record.reference is not None:
            store.rewrite(dataclasses.replace(without(record, DISTANCES), reference=None))


def _tabulated(record: Record, store: Store) -> tuple[dict[str, Tabulated], dict[str, str]]:
    """Return condition → prediction in original units, and condition → reason if it has none."""
    tabulated, reasons = {}, {}
    try:
        predictions = store.predictions(record.key)
    except NotImported as reason:
        return {}, dict.fromkeys(record.outcome.scores, str(reason))
    for condition, (prediction, _) in predictions.items():
        try:
            tabulated[condition] = Tabulated(
                _in_original_units(prediction, record.circumstances.target)
            )
        except CannotAnswer as reason:
            reasons[condition] = message(reason)
        except Exception as error:
            reasons[condition] = third_party_reason(prediction, error)
    return tabulated, reasons


def _in_original_units(prediction: Any, target: Mapping[str, Any] | None) -> RealPredictive:
    """Return the prediction on the target's original scale.

    Raises TypeError for class probabilities, and `CannotAnswer` for less than a distribution.
    """
    if getattr(prediction, "of_classes", False):
        class_name = type(prediction).__name__
        raise TypeError(
            f"distances to a reference need predictions of real-valued targets, not {class_name}"
        )
    require(prediction, "mean", "variance", "log_prob", "cdf")
    return rescaled(prediction, target["mean"], target["std"]) if target else prediction
