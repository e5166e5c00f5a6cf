"""Scores of predictions against the true function, far from the data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.case import Case
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.error_texts import message
from bnnbench.engine.run.packing import NotImported
from bnnbench.engine.store.data_points import Curve, curve, curve_of
from bnnbench.engine.store.rescoring.added import Reasons, Role, Values, is_answered
from bnnbench.engine.store.store import Store
from bnnbench.methods.predictions.base import CannotAnswer, require
from bnnbench.metrics import FAR
from bnnbench.metrics.far import KnownFunction

CONDITION = Clean().name
"""The true function is known at the clean test rows."""


@dataclass(frozen=True)
class Function:
    """The true function of a fold with one input; None if it is unknown, or is not needed."""

    points: Curve | None
    doubt: str = ""
    metrics = FAR
    title = "scores against the true function"

    @classmethod
    def of_fold(cls, case: Case, fold: int, records: Sequence[Record]) -> "Function":
        """Return the function of a case's fold, loading data only if a record lacks scores."""
        completed = (record for record in records if record.outcome.status == "completed")
        if all(is_answered(record, FAR) for record in completed):
            return cls(None)
        points = curve_of(case.source.load(fold))
        unknown = points is None or points.truth is None
        return cls(None, "none, it is unknown") if unknown else cls(points)

    def role(self, record: Record) -> Role:
        """Return how a record of the fold is treated."""
        return "dropped" if self.doubt else "compared"

    def identity(self, record: Record) -> None:
        """Return None: records do not name the function."""

    def scores(self, record: Record, store: Store) -> tuple[Values, Reasons]:
        """Return the scores, and reasons for missing ones."""
        assert self.points
        try:
            prediction: Any = store.predictions(record.key)[CONDITION][0]
            require(prediction, "cdf")
        except (NotImported, CannotAnswer) as reason:
            return {}, {CONDITION: dict.fromkeys(FAR, message(reason))}
        function = known_function(
            self.points, record.circumstances.target or {"mean": 0.0, "std": 1.0}
        )
        return {CONDITION: {n: float(m.score(prediction, function)) for n, m in FAR.items()}}, {}


def named_function(record: Record, store: Store) -> Function | None:
    """Return the function that a record was compared with, from the stored points.

    It is None for a record without such scores, or without points. Raises `CorruptRecord`.
    """
    if not record.outcome.scores.get(CONDITION, {}).keys() & FAR.keys():
        return None
    points = curve(store, record)
    return None if points is None or points.truth is None else Function(points)


def known_function(points: Curve, target: Mapping[str, Any]) -> KnownFunction:
    """Return the true function, standardised like the target."""
    assert points.truth is not None
    truth = (torch.from_numpy(points.truth).double() - target["mean"]) / target["std"]
    return KnownFunction(torch.from_numpy(points.test_inputs).double(), truth)
