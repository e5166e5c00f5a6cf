"""Distances to the predictions of a suite's reference method."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bnnbench.datasets.reading.whole_files import read_regular
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.error_texts import message
from bnnbench.engine.run.packing import NotImported
from bnnbench.engine.run.score import rescaled, third_party_reason
from bnnbench.engine.store.rescoring.added import Reasons, Role, Values
from bnnbench.engine.store.store import CorruptRecord, Store
from bnnbench.methods.predictions.base import CannotAnswer, require
from bnnbench.methods.predictions.predictive import RealPredictive
from bnnbench.metrics import DISTANCES
from bnnbench.metrics.distances import Tabulated


@dataclass(frozen=True)
class AnotherRun:
    """The run of seed 0 of the method `label` in a fold.

    Only this run has no distance, so that its other seeds show the distance between two equal
    methods.
    """

    label: str
    run: Record | None
    store: Store
    metrics = DISTANCES

    @classmethod
    def of_fold(cls, label: str, records: Sequence[Record], store: Store) -> "AnotherRun":
        """Return the reference among a fold's records."""
        run = next((r for r in records if r.method == label and r.seed == 0), None)
        return cls(label, run, store)

    @property
    def title(self) -> str:
        """The words for its scores."""
        return f"distances to {self.label}"

    @property
    def doubt(self) -> str:
        """The reason why these are no distances to an exact posterior; "" if they are."""
        if self.run is None:
            return "none, because its seed 0 was never run"
        if self.run.outcome.status != "completed":
            return ": ".join(
                filter(None, (f"none, it {self.run.outcome.status}", self.run.outcome.last_line))
            )
        if not self.run.outcome.unconverged:
            return ""
        return "it did not converge, so these are not distances to the exact posterior"

    def role(self, record: Record) -> Role:
        """Return how a record of the fold is treated."""
        if record is self.run:
            return "left"
        return "compared" if self.run and self.run.outcome.status == "completed" else "dropped"

    def identity(self, record: Record) -> Mapping[str, str]:
        """Return the reference as it is named in records; other predictions, other identity."""
        return self._identity

    @cached_property
    def _identity(self) -> Mapping[str, str]:
        assert self.run
        return {"key": self.run.key, "sha256": _sha256(self.run, self.store)}

    def scores(self, record: Record, store: Store) -> tuple[Values, Reasons]:
        """Return the distances, averaged over points, and reasons for missing ones."""
        values: dict[str, dict[str, float]] = {}
        truth, doubts = self._tabulated
        predictions, reasons = _tabulated(record, store)
        for condition in predictions.keys() & truth.keys():
            prediction = predictions[condition]
            try:
                values[condition] = _distances(prediction, truth[condition])
            except Exception as error:
                reasons[condition] = third_party_reason(prediction.prediction, error)
        blamed = {c: f"{self.label}: {why}" for c, why in doubts.items()} | reasons
        return values, {
            condition: dict.fromkeys(DISTANCES, blamed[condition])
            for condition in blamed.keys() & record.outcome.scores.keys()
        }

    @cached_property
    def _tabulated(self) -> tuple[dict[str, Tabulated], dict[str, str]]:
        assert self.run
        return _tabulated(self.run, self.store)


def named_run(record: Record, store: Store) -> AnotherRun | None:
    """Return the run that a record was compared with; None unless its predictions are the same."""
    identity = record.reference or {}
    key = identity.get("key")
    run = store.read(key) if key and key in store.run_keys() else None
    if run is None or run.outcome.predictions_sha256 != identity.get("sha256"):
        return None
    return AnotherRun(run.method, run, store)


def _distances(prediction: Tabulated, truth: Tabulated) -> dict[str, float]:
    """Return distance → value, averaged over points."""
    return {name: float(m.score(prediction, truth).mean()) for name, m in DISTANCES.items()}


def _sha256(record: Record, store: Store) -> str:
    path = store.runs / record.key / "predictions.npz"
    try:
        return hashlib.sha256(read_regular(path)).hexdigest()
    except OSError as error:
        raise CorruptRecord(path, error) from error


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
