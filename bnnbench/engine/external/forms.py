"""The accepted forms of external predictions: arrays by name, checked without torch."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from bnnbench.wording import did_you_mean

SUM_TOLERANCE = 1e-3
"""Maximum deviation of a sum of probabilities from 1; half precision rounds a thousand classes
by this much."""


class BadPredictions(ValueError):
    """Predictions that cannot be scored; the message names the cause and the remedy."""


@dataclass(frozen=True)
class Prediction:
    """Checked arrays of one form, named and shaped as packed by the predictive class."""

    kind: str
    """A name in `bnnbench.methods.predictions.PREDICTIVES`."""
    arrays: Mapping[str, np.ndarray]
    points: int
    columns: int
    """The number of classes, or of outputs."""
    of_classes: bool


def checked(arrays: Mapping[str, Any]) -> Prediction:
    """Return the prediction in arrays of these names; `FORMS` lists the accepted names.

    Raises BadPredictions.
    """
    form = FORMS[form_of(arrays)]
    return form(*(_numbers(name, arrays[name]) for name in form_of(arrays)))


def form_of(arrays: Collection[str]) -> tuple[str, ...]:
    """Return the names of the form that some arrays have; raises BadPredictions if it is none."""
    for names in FORMS:
        if set(names) == set(arrays):
            return names
    listed = "; ".join(" and ".join(names) for names in FORMS)
    known = sorted({name for names in FORMS for name in names})
    if strangers := [name for name in arrays if name not in known]:
        hint = did_you_mean(strangers[0], known)
        raise BadPredictions(
            f"{strangers[0]!r} is not part of a prediction{hint and f' ({hint})'}: "
            f"give one of: {listed}"
        )
    got = " and ".join(arrays) or "nothing"
    raise BadPredictions(f"cannot make a prediction from {got}: give one of: {listed}")


def require_shapes(shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise BadPredictions for shapes that do not fit together, before their data are read."""
    for name, shape in shapes.items():
        if len(shape) > 3:
            raise BadPredictions(f"{name} has shape {shape}: give at most three axes")
    if {"means", "variances"} <= shapes.keys():
        _require_variances(shapes["means"], shapes["variances"])
    if {"low", "high"} <= shapes.keys():
        _require_ends(shapes["low"], shapes["high"])
    if "levels" in shapes and shapes["levels"] != shapes["quantiles"][-1:]:
        _refuse_levels(shapes["levels"], shapes["quantiles"])


def _require_variances(means: tuple[int, ...], variances: tuple[int, ...]) -> None:
    if means != variances:
        raise BadPredictions(
            f"means have shape {means}, and variances {variances}: give a variance for each mean "
            "(numpy.broadcast_to repeats one)"
        )


def _require_ends(low: tuple[int, ...], high: tuple[int, ...]) -> None:
    if low != high:
        raise BadPredictions(
            f"low ends have shape {low}, and high ends {high}: give both for each point"
        )


def _refuse_levels(levels: tuple[int, ...], quantiles: tuple[int, ...]) -> NoReturn:
    raise BadPredictions(
        f"levels have shape {levels}, and quantiles {quantiles}: give quantiles as points x levels"
    )


def _probabilities(values: np.ndarray) -> Prediction:
    values = _shaped("probabilities", values, _CLASSES)
    _require_finite("probabilities", values)
    _refuse(values < 0, "probabilities", values, "is negative: are these logits? Take a softmax")
    _check_sums("probabilities", values.sum(-1))
    with np.errstate(divide="ignore"):
        return _categorical(np.log(values))


def _log_probabilities(values: np.ndarray) -> Prediction:
    values = _shaped("log_probabilities", values, _CLASSES)
    _refuse(np.isnan(values), "log_probabilities", values, _MISSING)
    _refuse(
        values > np.log1p(SUM_TOLERANCE),
        "log_probabilities",
        values,
        "is the log of more than 1: are these logits or probabilities? Take a log_softmax, or name "
        "them probabilities",
    )
    _check_sums("log_probabilities", np.exp(values).sum(-1))
    return _categorical(values)


def _categorical(log_probs: np.ndarray) -> Prediction:
    _, points, classes = log_probs.shape
    if classes < 2:
        raise BadPredictions(
            "there is only one class: give a probability for each class; for two, 1 - p and p"
        )
    return Prediction("categorical", {"log_probs": log_probs}, points, classes, True)


def _gaussian(means: np.ndarray, variances: np.ndarray) -> Prediction:
    _require_variances(means.shape, variances.shape)
    means, variances = _draws("means", means), _draws("variances", variances)
    _require_finite("means", means)
    _require_finite("variances", variances)
    _refuse(
        variances < 0,
        "variances",
        variances,
        "is negative: give variances (target noise included), not their logs",
    )
    arrays = {"means": means, "variances": variances}
    return Prediction("gaussian", arrays, means.shape[1], means.shape[2], False)


def _samples(samples: np.ndarray) -> Prediction:
    samples = _draws("samples", samples)
    _require_finite("samples", samples)
    if len(samples) < 2:
        raise BadPredictions(
            "there is one sample of each target: give several, as samples x points, with target "
            "noise included"
        )
    _, points, outputs = samples.shape
    return Prediction("samples", {"samples": samples}, points, outputs, False)


def _quantiles(levels: np.ndarray, quantiles: np.ndarray) -> Prediction:
    if quantiles.ndim == 2:
        quantiles = quantiles[:, None]
    if levels.ndim != 1 or quantiles.ndim != 3 or quantiles.shape[2] != len(levels):
        _refuse_levels(levels.shape, quantiles.shape)
    _refuse(
        ~((levels > 0) & (levels < 1)),
        "levels",
        levels,
        "is not a level: give levels between 0 and 1",
        ("place",),
    )
    order = np.argsort(levels, kind="stable")
    levels, quantiles = levels[order], quantiles[..., order]
    if (np.diff(levels) == 0).any():
        raise BadPredictions(f"a level is given twice: {_listed(levels)}: give each once")
    axes = ("point", "output", "level")
    _refuse(np.isnan(quantiles), "quantiles", quantiles, _MISSING, axes)
    _refuse(
        np.pad(np.diff(quantiles, axis=2) < 0, ((0, 0), (0, 0), (1, 0))),
        "quantiles",
        quantiles,
        "is below the quantile of a lower level: sort the quantiles of each point",
        axes,
    )
    arrays = {"levels": levels, "values": quantiles}
    return Prediction("quantiles", arrays, quantiles.shape[0], quantiles.shape[1], False)


def _interval(level: np.ndarray, low: np.ndarray, high: np.ndarray) -> Prediction:
    _require_ends(low.shape, high.shape)
    ends = {"low": _outputs("low", low), "high": _outputs("high", high)}
    for name, end in ends.items():
        _refuse(np.isnan(end), name, end, _MISSING, ("point", "output"))
    _refuse(
        ends["low"] > ends["high"],
        "low",
        ends["low"],
        "is above the high end: are the two swapped?",
        ("point", "output"),
    )
    points, outputs = ends["low"].shape
    return Prediction("interval", {"level": _level(level), **ends}, points, outputs, False)


def _class_set(level: np.ndarray, members: np.ndarray) -> Prediction:
    if members.ndim != 2:
        raise BadPredictions(f"members have shape {members.shape}: give points x classes")
    wrong = (members != 0) & (members != 1)
    _refuse(wrong, "members", members, "is neither 0 nor 1", ("point", "class"))
    arrays = {"level": _level(level), "members": members.astype(bool)}
    return Prediction("class_set", arrays, members.shape[0], members.shape[1], True)


FORMS: Mapping[tuple[str, ...], Callable[..., Prediction]] = {
    ("probabilities",): _probabilities,
    ("log_probabilities",): _log_probabilities,
    ("means", "variances"): _gaussian,
    ("samples",): _samples,
    ("levels", "quantiles"): _quantiles,
    ("level", "low", "high"): _interval,
    ("level", "members"): _class_set,
}
"""Names of arrays → the function that checks them and returns the prediction."""

_CLASSES = "points x classes, or draws x points x classes"
_MISSING = "is missing (NaN): predict every row, and look for a division by zero or an overflow"


def _numbers(name: str, given: Any) -> np.ndarray:
    """Return the values in double precision."""
    array = np.asarray(given)
    if array.dtype == object or array.dtype.kind not in "buif":
        raise BadPredictions(f"{name} has type {array.dtype}: give an array of real numbers")
    if array.size == 0:
        raise BadPredictions(f"{name} is empty: its shape is {array.shape}")
    return array.astype(np.float64)


def _shaped(name: str, values: np.ndarray, needed: str) -> np.ndarray:
    if values.ndim == 2:
        values = values[None]
    if values.ndim != 3:
        raise BadPredictions(f"{name} has shape {values.shape}: give {needed}")
    return values


def _draws(name: str, values: np.ndarray) -> np.ndarray:
    """Return draws x points x outputs from points, draws x points, or all three."""
    if values.ndim == 2 and values.shape[1] == 1 and len(values) > 1:
        raise BadPredictions(
            f"{name} has shape {values.shape}, which reads as {len(values)} draws for one point: "
            f"give points as one axis, as {name}[:, 0]"
        )
    if values.ndim == 1:
        values = values[None]
    return _shaped(name, values[..., None] if values.ndim == 2 else values, "draws x points")


def _outputs(name: str, values: np.ndarray) -> np.ndarray:
    if values.ndim not in (1, 2):
        raise BadPredictions(f"{name} has shape {values.shape}: give an end for each point")
    return values[:, None] if values.ndim == 1 else values


def _level(level: np.ndarray) -> np.ndarray:
    values = np.unique(level)
    if len(values) != 1 or not 0 < values[0] < 1:
        raise BadPredictions(
            f"the level is {_listed(values)}: give one, between 0 and 1, such as 0.9"
        )
    return np.array(values[0])


def _require_finite(name: str, values: np.ndarray) -> None:
    _refuse(np.isnan(values), name, values, _MISSING)
    _refuse(np.isinf(values), name, values, "is infinite: give finite numbers")


def _check_sums(name: str, sums: np.ndarray) -> None:
    bad = np.argwhere(np.abs(sums - 1) > SUM_TOLERANCE)
    if len(bad):
        draw, point = map(int, bad[0])
        where = f"draw {draw}, point {point}" if len(sums) > 1 else f"point {point}"
        count = f"{len(bad)} of {sums.size} rows of {name}"
        raise BadPredictions(
            f"{count} do not sum to 1, the first at {where} (to {sums[draw, point]:.6g}): are "
            "these logits, or are classes missing? Take a softmax, or divide by the sum"
        )


def _refuse(
    wrong: np.ndarray,
    name: str,
    values: np.ndarray,
    reason: str,
    axes: tuple[str, ...] = ("draw", "point", "column"),
) -> None:
    """Raise BadPredictions with the first wrong value and its place, counted from 0.

    Axes of length one are omitted.
    """
    places = np.argwhere(wrong)
    if len(places):
        first = tuple(map(int, places[0]))
        named = zip(axes[-values.ndim :], first, values.shape, strict=True)
        place = ", ".join(f"{axis} {k}" for axis, k, n in named if n > 1 or axis == "point")
        count = f" ({len(places)} such values)" if len(places) > 1 else ""
        raise BadPredictions(f"{name} at {place} = {values[first]:.6g}{count} {reason}")


def _listed(values: Iterable[float] | Sequence[float]) -> str:
    return ", ".join(f"{value:.6g}" for value in values)
