"""Scores of predictions against the true function, far from the data."""

from collections.abc import Mapping
from typing import Any

import torch

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.description import describe
from bnnbench.engine.declare.grid import Suite
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.error_texts import message
from bnnbench.engine.run.packing import NotImported
from bnnbench.engine.run.score import Scores
from bnnbench.engine.store.data_points.curves import Curve, curve, curve_of
from bnnbench.engine.store.rescoring.added import is_answered, with_scores
from bnnbench.engine.store.store import Store
from bnnbench.methods.predictions.base import CannotAnswer, require
from bnnbench.metrics import FAR
from bnnbench.metrics.far import KnownFunction

CONDITION = Clean().name
"""The true function is known at the clean test rows."""


def add_far(suite: Suite, store: Store) -> list[str]:
    """Give each record its scores against the true function, and return warnings.

    A case without a known function of one input has no scores. Raises `CorruptRecord` if
    predictions are missing or incomplete.
    """
    doubts = []
    for case in suite.cases:
        source = describe(case.source)
        for record in store.current():
            alike = (record.profile, record.dataset) == (suite.profile, case.name)
            if (
                not alike
                or record.run.get("source") != source
                or record.outcome.status != "completed"
            ):
                continue
            if is_answered(record, CONDITION, FAR):
                continue
            points = curve_of(case.source.load(record.fold))
            if points is None or points.truth is None:
                doubts.append(f"no scores against the true function of {case.name}: it is unknown")
                break
            far = _scores(record, store, points)
            store.rewrite(
                with_scores(record, FAR, {CONDITION: far.values}, {CONDITION: far.unanswered})
            )
    return doubts


def far_scores(record: Record, store: Store) -> Scores:
    """Return a record's scores, recomputed from stored predictions and points.

    They are empty if the points are missing. Raises `CorruptRecord`.
    """
    points = curve(store, record)
    if points is None or points.truth is None:
        return Scores({}, {})
    return _scores(record, store, points)


def _scores(record: Record, store: Store, points: Curve) -> Scores:
    try:
        prediction: Any = store.predictions(record.key)[CONDITION][0]
        require(prediction, "cdf")
    except (NotImported, CannotAnswer) as reason:
        return Scores({}, dict.fromkeys(FAR, message(reason)))
    function = known_function(points, record.circumstances.target or {"mean": 0.0, "std": 1.0})
    return Scores({n: float(m.score(prediction, function)) for n, m in FAR.items()}, {})


def known_function(points: Curve, target: Mapping[str, Any]) -> KnownFunction:
    """Return the true function, standardised like the target."""
    assert points.truth is not None
    truth = (torch.from_numpy(points.truth).double() - target["mean"]) / target["std"]
    return KnownFunction(torch.from_numpy(points.test_inputs).double(), truth)
