"""Checks of predictions: shapes, types, probabilities, and finite values."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, get_args

import torch
from jaxtyping import jaxtyped
from torch import Tensor

from bnnbench.datasets.base import Split
from bnnbench.engine.run.packing import stored_form, vars_of
from bnnbench.engine.run.score import check_kind
from bnnbench.methods.base import InferenceDiverged
from bnnbench.methods.predictions.base import HasProbabilities, Predictive
from bnnbench.metrics import METRICS

PROBABILITY_TOLERANCE = 1e-2
"""Largest deviation of a sum of class probabilities from 1; half precision needs this much."""

LARGEST = torch.finfo(torch.float32).max
"""Scores beyond this overflowed: most methods compute in single precision."""

ANSWERS: Mapping[str, tuple[str, ...]] = {
    "mean": ("points", "outputs"),
    "variance": ("points", "outputs"),
    "values": ("points", "outputs", "levels"),
    "low": ("points", "outputs"),
    "high": ("points", "outputs"),
    "mixture_log_probs": ("points", "classes"),
    "members": ("points", "classes"),
}
"""Attribute of a prediction → the axes of its array."""


def check_fields(prediction: object) -> None:
    """Raise TypeError if a field of a dataclass violates its annotation.

    Tests check this for our own predictions; third-party methods run without those checks.
    """
    if not dataclasses.is_dataclass(prediction):
        return
    with jaxtyped("context"):  # an axis of one name has one length in all fields
        for field in dataclasses.fields(prediction):
            kinds: tuple[Any, ...] = (field.type, *get_args(field.type))
            arrays = tuple(kind for kind in kinds if hasattr(kind, "dim_str"))
            value = getattr(prediction, field.name)
            if arrays and value is not None and not isinstance(value, arrays):
                names = " or ".join(kind.__name__ for kind in arrays)
                raise TypeError(
                    f"{type(prediction).__name__}.{field.name}: needed {names}; "
                    f"got {_described(value)}"
                )


def validated(
    answer: Any, split: Split, columns: int | None, conditions: int, condition: str
) -> Predictive:
    """Return the prediction to score and store, on the CPU. Raises an error unless it is valid.

    The storage limit of a run is shared by this number of `conditions`.
    """
    check_fields(answer)
    arrays = {name: array.cpu() for name, array in vars_of(answer).items()}
    prediction = stored_form(type(answer).unpack(arrays), conditions)
    check_prediction(prediction, split.targets, columns, condition)
    return prediction


def check_prediction(
    prediction: Predictive, targets: Tensor, columns: int | None, condition: str
) -> None:
    """Raise an error unless the prediction is valid for the targets of a condition."""
    check_kind(prediction, targets)
    check_finite(prediction, vars_of(prediction), f"under the condition {condition}")
    check(prediction, len(targets), columns)


def check(prediction: Predictive, rows: int, columns: int | None = None) -> None:
    """Raise an error unless the prediction has valid numbers for every row and column.

    `columns` is the number of outputs or classes, None to skip that check. Variances must not be
    negative, and class probabilities must sum to 1.
    """
    kind = type(prediction).__name__
    for name, axes in ANSWERS.items():
        if (answer := getattr(prediction, name, None)) is not None:
            _check_answer(f"{kind}.{name}", answer, axes, (rows, columns))
    # For a mixture, the variance of each component.
    for name in ("variances", "variance"):
        variance = getattr(prediction, name, None)
        if variance is not None:
            if (variance < 0).any():
                raise ValueError(f"{kind}.{name}: needed 0 or more; got a negative variance")
            break
    if isinstance(prediction, HasProbabilities):
        _check_probabilities(prediction)


def _check_answer(
    title: str, answer: Any, axes: tuple[str, ...], sizes: tuple[int, int | None]
) -> None:
    wanted = [axes[i] if size is None else str(size) for i, size in enumerate(sizes)]
    needed = f"{title}: needed real numbers of shape ({', '.join([*wanted, *axes[2:]])})"
    if not isinstance(answer, Tensor) or answer.is_complex():
        raise TypeError(f"{needed}; got {_described(answer)}")
    fits = all(size in (None, n) for size, n in zip(sizes, answer.shape, strict=False))
    if answer.ndim != len(axes) or not fits:
        raise ValueError(f"{needed}; got {_described(answer)}")


def _check_probabilities(prediction: HasProbabilities) -> None:
    """Raise an error unless the probabilities of every point sum to 1, of each draw if known."""
    each = getattr(prediction, "log_probs", prediction.mixture_log_probs)
    log_sum = each.logsumexp(-1)
    if not torch.all(log_sum.abs() <= PROBABILITY_TOLERANCE):
        worst = float(log_sum.flatten()[log_sum.abs().argmax()].exp())
        raise ValueError(
            f"predicted class probabilities sum to {worst:.4g}, not to 1: are these logits? "
            "CategoricalPredictive takes log probabilities, as log_softmax gives"
        )


def check_finite(prediction: Any, packed: Mapping[str, Tensor], where: str) -> None:
    """Raise `InferenceDiverged` for a packed array with NaN, or with an unintended infinity.

    `where` describes the prediction in the message.
    """
    meant = getattr(prediction, "may_be_infinite", ())
    for name, array in packed.items():
        title = f"{where} ({type(prediction).__name__}.{name})"
        if array.isnan().any():
            raise InferenceDiverged(f"predicts NaN {title}")
        if name not in meant and array.isinf().any():
            raise InferenceDiverged(f"predicts an infinity {title}")


def check_scores(scores: Mapping[str, float], condition: str) -> None:
    """Raise `InferenceDiverged` for a NaN or huge score, unless its metric allows it."""
    for name, score in scores.items():
        usable = math.isfinite(score) and abs(score) <= LARGEST
        if not usable and str(score) not in METRICS[name].limits:
            raise InferenceDiverged(f"{name} is {score:.3g} under the condition {condition}")


def _described(value: object) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype} of shape {tuple(value.shape)}".removeprefix("torch.")
    return f"a {type(value).__name__}"
