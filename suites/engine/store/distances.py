"""How far predictions are from those of the method that a suite takes for the truth."""

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from bnnbench.methods.predictions.base import CannotAnswer, require
from bnnbench.methods.predictions.predictive import RealPredictive
from bnnbench.metrics import DISTANCES
from bnnbench.metrics.distances import Tabulated
from bnnbench.suites.engine.declare.description import canonical_json, describe
from bnnbench.suites.engine.declare.grid import Suite
from bnnbench.suites.engine.run.packing import NotImported
from bnnbench.suites.engine.run.score import rescaled
from bnnbench.suites.engine.store.record import Record
from bnnbench.suites.engine.store.store import Damaged, Store


def add_distances(suite: Suite, store: Store) -> list[str]:
    """Give each record its distances to the reference, and return doubts about them.

    Folds are named that have no reference, and those whose reference is not converged.

    The reference of a fold is the run of seed 0 of the method `suite.reference`; it alone has
    no distance, so that another seed of it shows how far chance carries two runs. Distances to
    predictions that are no longer those of the reference are replaced or dropped. Raises
    `Damaged` where predictions are missing or not whole.
    """
    if suite.reference is None:
        return []
    doubts: dict[tuple[str, str], list[int]] = {}
    for together in _folds(suite, store.current()):
        reference = _reference(suite.reference, together)
        others = [record for record in together if record is not reference]
        if reference and reference.status == "completed":
            _compare(others, reference, store)
        else:
            _drop(others, store)
        if others and (doubt := _doubt(reference)):
            doubts.setdefault((others[0].dataset, doubt), []).append(others[0].fold)
    return [
        f"distances to {suite.reference} on {dataset}, fold {', '.join(map(str, folds))}: {doubt}"
        for (dataset, doubt), folds in doubts.items()
    ]


def _folds(suite: Suite, records: Iterable[Record]) -> list[list[Record]]:
    """Return the suite's records, those of one case and fold together."""
    cases = {(case.name, canonical_json(describe(case.source))) for case in suite.cases}
    found: dict[tuple[str, str, int], list[Record]] = {}
    for record in records:
        case = record.dataset, canonical_json(record.run.get("source"))
        if record.profile == suite.profile and case in cases:
            found.setdefault((*case, record.fold), []).append(record)
    return [found[place] for place in sorted(found)]


def _reference(label: str, records: Iterable[Record]) -> Record | None:
    return next((r for r in records if r.method == label and r.seed == 0), None)


def _doubt(reference: Record | None) -> str | None:
    if reference is None:
        return "none, its seed 0 was never run"
    if reference.status != "completed":
        lines = (reference.error or "").strip().splitlines()
        return ": ".join([f"none, it {reference.status}", *lines[-1:]])
    converged = reference.diagnostics.get("converged", 1.0)
    return None if converged else "it is not converged, so they are not to the exact posterior"


def _compare(records: Iterable[Record], reference: Record, store: Store) -> None:
    """Bring the records' distances up to the reference's predictions as they are now."""
    identity = {"key": reference.key, "sha256": _sha256(reference, store)}
    outdated = [
        record
        for record in records
        if record.status == "completed"
        and not (record.reference == identity and any(map(_has_all, record.scores.values())))
    ]
    if not outdated:
        return
    truth, doubts = _tabulated(reference, store)
    for record in outdated:
        scores = {condition: dict(known) for condition, known in record.scores.items()}
        unanswered = {condition: dict(known) for condition, known in record.unanswered.items()}
        predictions, reasons = _tabulated(record, store)
        for condition in predictions.keys() & truth.keys():
            for name, metric in DISTANCES.items():
                distance = metric.score(predictions[condition], truth[condition])
                scores[condition][name] = float(distance.mean())
        blamed = {c: f"{reference.method}: {why}" for c, why in doubts.items()} | reasons
        for condition in blamed.keys() & scores.keys():
            no_distance = dict.fromkeys(DISTANCES, blamed[condition])
            unanswered[condition] = unanswered.get(condition, {}) | no_distance
        store.rewrite(
            dataclasses.replace(record, scores=scores, unanswered=unanswered, reference=identity)
        )


def _sha256(record: Record, store: Store) -> str:
    path = store.runs / record.key / "predictions.npz"
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise Damaged(path, error) from error


def _has_all(scores: Mapping[str, float]) -> bool:
    return scores.keys() >= DISTANCES.keys()


def _drop(records: Iterable[Record], store: Store) -> None:
    for record in records:
        if record.reference is not None:
            scores = {
                condition: {name: v for name, v in known.items() if name not in DISTANCES}
                for condition, known in record.scores.items()
            }
            store.rewrite(dataclasses.replace(record, scores=scores, reference=None))


def _tabulated(record: Record, store: Store) -> tuple[dict[str, Tabulated], dict[str, str]]:
    """Return condition → prediction in original target units, and condition → why there is none."""
    found, reasons = {}, {}
    try:
        predictions = store.predictions(record.key)
    except NotImported as reason:
        return {}, dict.fromkeys(record.scores, str(reason))
    for condition, (prediction, _) in predictions.items():
        try:
            found[condition] = Tabulated(_in_original_units(prediction, record.target))
        except CannotAnswer as reason:
            reasons[condition] = str(reason)
    return found, reasons


def _in_original_units(prediction: Any, target: Mapping[str, Any] | None) -> RealPredictive:
    """Return the prediction on the target's own scale.

    Raises TypeError for class probabilities, and `CannotAnswer` for less than a distribution.
    """
    if getattr(prediction, "of_classes", False):
        kind = type(prediction).__name__
        raise TypeError(f"distances to a reference are between predictions of reals, not {kind}")
    require(prediction, "mean", "variance", "log_prob", "cdf")
    return rescaled(prediction, target["mean"], target["std"]) if target else prediction
