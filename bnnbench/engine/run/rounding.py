"""Predictions in few bits, at which every score that they answer keeps four significant digits.

Of a prediction and its summary, the smaller is taken, and of its arrays the first that keeps the
digits: in 16 bits, 65,535 equal steps from the least to the greatest number or, if all are
positive, from the least to the greatest logarithm; in single precision; as stored.
"""

import io
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bnnbench.engine.records.record import Record
from bnnbench.engine.run.packing import (
    TARGETS,
    Predictions,
    kind_of,
    name_of,
    stored_arrays,
    vars_of,
)
from bnnbench.engine.run.score import score
from bnnbench.methods.predictions.base import CannotAnswer, Predictive
from bnnbench.methods.predictions.quantiles import LEVELS
from bnnbench.methods.predictions.real_summary import RealSummary
from bnnbench.metrics import METRICS

DIGITS = 4
STEPS = 2**16 - 1
ENDS, LOG_ENDS = "/ends", "/log_ends"
"""Endings of the names of least and greatest numbers, or logarithms, of an array in steps."""

Arrays = Mapping[str, np.ndarray]


def pack_rounded(predictions: Predictions, record: Record) -> bytes:
    """Return the rounded predictions of a run as the bytes of an npz file."""
    arrays: dict[str, Any] = {}
    for condition, (prediction, targets) in predictions.items():
        recorded = record.outcome.scores.get(condition, {})
        kind, chosen = _rounded(prediction, targets, recorded, record.circumstances.target)
        arrays |= {f"{condition}/{kind}/{name}": array for name, array in chosen.items()}
        arrays[f"{condition}/{TARGETS}"] = targets.numpy()
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def unpack_rounded(content: bytes) -> Predictions:
    """Return the predictions that `pack_rounded` made; raises ValueError for anything else."""
    return {
        condition: (_unpacked(stored.kind, stored.arrays), torch.from_numpy(stored.targets))
        for condition, stored in stored_arrays(content).items()
    }


def keeps_digits(value: float, exact: float) -> bool:
    """Return whether a score is within half a unit of the fourth significant digit of another."""
    if not exact or not math.isfinite(exact):
        return value == exact or (math.isnan(value) and math.isnan(exact))
    return abs(value - exact) <= 0.5 * 10.0 ** (math.floor(math.log10(abs(exact))) - DIGITS + 1)


def _rounded(
    prediction: Predictive,
    targets: Tensor,
    recorded: Mapping[str, float],
    scale: Mapping[str, Any] | None,
) -> tuple[str, Arrays]:
    """Return the name of a class and its arrays, the coarsest that keep the recorded scores."""
    for kind, arrays in _forms(prediction, targets):
        if keeps_scores(_unpacked(kind, arrays), targets, recorded, scale):
            return kind, arrays
    return name_of(prediction), _arrays(prediction)


def keeps_scores(
    prediction: Predictive,
    targets: Tensor,
    recorded: Mapping[str, float],
    scale: Mapping[str, Any] | None,
) -> bool:
    """Return whether all recorded scores that a prediction answers keep their digits."""
    names = [name for name in recorded if name in METRICS]
    values = score(prediction, targets, names, scale).values
    return all(keeps_digits(value, recorded[name]) for name, value in values.items())


def _forms(prediction: Predictive, targets: Tensor) -> Iterator[tuple[str, Arrays]]:
    for form in filter(None, (_summary(prediction, targets), prediction)):
        for code in (_in_steps, _single):
            yield name_of(form), _coded(_arrays(form), code)


def _summary(prediction: Predictive, targets: Tensor) -> Predictive | None:
    """Return a prediction's summary; None if it has none, or is not larger itself."""
    size = sum(array.size for array in _arrays(prediction).values())
    if hasattr(prediction, "summary"):
        summary = prediction.summary()  # pyright: ignore[reportAttributeAccessIssue]
        return summary if sum(array.size for array in _arrays(summary).values()) < size else None
    if not targets.is_floating_point() or size <= targets.numel() * (len(LEVELS) + 5):
        return None
    try:
        return RealSummary.of(prediction, targets)
    except CannotAnswer:
        return None


def _arrays(prediction: Predictive) -> Arrays:
    return {name: tensor.cpu().numpy() for name, tensor in vars_of(prediction).items()}


def _coded(arrays: Arrays, code: Callable[[str, np.ndarray], Arrays]) -> Arrays:
    """Return the arrays with all but the targets coded."""
    coded: dict[str, np.ndarray] = {}
    for name, array in arrays.items():
        coded |= {name: array} if name == TARGETS else code(name, array)
    return coded


def _single(name: str, array: np.ndarray) -> Arrays:
    return {name: array.astype(np.float32) if array.dtype == np.float64 else array}


def _in_steps(name: str, array: np.ndarray) -> Arrays:
    """Return an array in steps, with its ends; unchanged if it has no or infinite numbers."""
    if not (array.size and np.issubdtype(array.dtype, np.floating) and np.isfinite(array).all()):
        return _single(name, array)
    numbers, ending = array.astype(np.float64), ENDS
    if (numbers > 0).all():
        numbers, ending = np.log(numbers), LOG_ENDS
    least, greatest = numbers.min(), numbers.max()
    steps = np.rint((numbers - least) / ((greatest - least) or 1.0) * STEPS)
    return {name: steps.astype(np.uint16), name + ending: np.array([least, greatest])}


def _unpacked(kind: str, arrays: Arrays) -> Predictive:
    fields = {name: array for name, array in arrays.items() if "/" not in name}
    for name in fields:
        if (ends := arrays.get(name + ENDS)) is not None:
            fields[name] = _between(ends, fields[name])
        elif (ends := arrays.get(name + LOG_ENDS)) is not None:
            fields[name] = np.exp(_between(ends, fields[name]))
    return kind_of(kind).unpack({name: torch.from_numpy(array) for name, array in fields.items()})


def _between(ends: np.ndarray, steps: np.ndarray) -> np.ndarray:
    least, greatest = ends
    return least + (greatest - least) * (steps / STEPS)
