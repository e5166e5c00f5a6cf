"""Predictions as the bytes of an npz file, and which of them are stored."""

import importlib
import io
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bnnbench.datasets.reading import npz
from bnnbench.engine.declare import names
from bnnbench.methods.predictions import PREDICTIVES
from bnnbench.methods.predictions.base import Predictive

Predictions = Mapping[str, tuple[Predictive, Tensor]]
"""Condition → prediction and targets, both on the method's scale."""

KEPT_DRAWS_BYTES = 64 * 2**20
"""Larger predictions of a condition are stored as their summary, if they have one."""

KEPT_RUN_BYTES = 256 * 2**20
"""Limit for the draws of all conditions of a run together, since a run is packed in memory."""

KEPT_ROUND_BYTES = 64 * 2**10
"""Maximum size of a regression's draws stored for rounds of active learning before the last."""


TARGETS = "targets"
"""Name of the array of targets under each condition."""


class NotImported(ValueError):
    """The class of a stored prediction belongs to another module, which is not imported."""


def kind_of(name: str) -> type[Predictive]:
    """Return the class of predictions that are stored under a name.

    A third-party class is found only if its module is already imported: reading a store runs no
    third-party code. Raises `NotImported` otherwise, ValueError for an unknown name.
    """
    if name.partition(":")[2] and not name.startswith(names.PROJECT):
        return _imported(name)
    path = PREDICTIVES.get(name)
    if path is None:
        raise ValueError(f"predictions of an unknown kind, {name!r}")
    module, _, kind = path.partition(":")
    return getattr(importlib.import_module(module), kind)


def _imported(path: str) -> type[Predictive]:
    module, _, kind = path.partition(":")
    value = sys.modules.get(module)
    main = sys.modules["__main__"]
    if value is None and (spec := getattr(main, "__spec__", None)) and spec.name == module:
        value = main
    for part in kind.split("."):
        value = getattr(value, part, None)
    if not isinstance(value, type):
        raise NotImported(
            f"they are of the class {path}, which this process has not imported, and reading a "
            f"store imports no third-party code: `import {module}` first, with its folder on the "
            "path"
        )
    return value


def name_of(prediction: object) -> str:
    """Return the name under which a prediction is stored; raises TypeError if it has none."""
    kind = type(prediction)
    lacking = [name for name in ("__len__", "pack", "unpack") if not hasattr(kind, name)]
    if lacking:
        raise TypeError(
            f"needed a prediction that has a length, pack and unpack (see "
            f"bnnbench.methods.predictions.base.Predictive); {kind.__name__} has no "
            f"{' and no '.join(lacking)}"
        )
    path = names.type_path(kind)
    if "<locals>" in path:
        raise TypeError(f"needed a predictive class at the top of a module; got {path}")
    registered = {known: name for name, known in PREDICTIVES.items()}
    name = registered.get(path, path)
    if name.startswith(names.PROJECT):
        raise TypeError(f"{path} has no registered name: add a line to PREDICTIVES")
    return name


def pack(predictions: Predictions) -> bytes:
    """Return the predictions as the bytes of an npz file."""
    arrays: dict[str, Any] = {}
    for condition, (prediction, targets) in predictions.items():
        prefix = f"{condition}/{name_of(prediction)}/"
        arrays |= {prefix + name: t.cpu().numpy() for name, t in vars_of(prediction).items()}
        arrays[f"{condition}/{TARGETS}"] = targets.cpu().numpy()
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def vars_of(prediction: Any) -> dict[str, Tensor]:
    """Return a prediction's arrays as tensors.

    Raises TypeError for a prediction that cannot be stored.
    """
    registered = name_of(prediction)
    packed = prediction.pack()
    if not packed:
        raise TypeError(f"needed at least one array; {registered} packs none")
    if odd := [type(name).__name__ for name in packed if not isinstance(name, str)]:
        raise TypeError(f"needed arrays with names as text from {registered}; got a {odd[0]}")
    return {name: _tensor(array, f"{name!r} of {registered}") for name, array in packed.items()}


def _tensor(array: np.ndarray | Tensor, title: str) -> Tensor:
    tensor = array.detach() if isinstance(array, Tensor) else _of_numpy(array)
    if tensor is None or tensor.is_complex():
        given = f"{type(array).__name__} of {getattr(array, 'dtype', 'no type')}"
        raise TypeError(f"needed an array of real numbers for {title}; got {given}")
    # NumPy has no bfloat16; single precision has all its values.
    return tensor.float() if tensor.dtype == torch.bfloat16 else tensor


def _of_numpy(array: np.ndarray) -> Tensor | None:
    try:
        return torch.from_numpy(np.ascontiguousarray(array).reshape(np.shape(array)))
    except TypeError:
        return None


@dataclass(frozen=True)
class Stored:
    """The stored arrays of a prediction, and its targets; of its class, only the name."""

    kind: str
    arrays: Mapping[str, np.ndarray]
    targets: np.ndarray


def stored_arrays(content: bytes) -> dict[str, Stored]:
    """Return condition → arrays, from what `pack` made; raises ValueError for anything else.

    Names are checked before any array is unpacked.
    """
    with npz.opened(content) as file:
        kinds = _kinds(file.headers)
        arrays = file.arrays()
    fields: dict[str, dict[str, np.ndarray]] = {condition: {} for condition in kinds}
    for path, array in arrays.items():
        condition, *names = path.split("/", 2)
        if names != [TARGETS]:
            fields[condition][names[1]] = array
    return {c: Stored(kind, fields[c], arrays[f"{c}/{TARGETS}"]) for c, kind in kinds.items()}


def _kinds(paths: Iterable[str]) -> dict[str, str]:
    """Return condition → name of the predictions' class, from the names of all arrays."""
    kinds: dict[str, str] = {}
    scored: set[str] = set()
    for path in paths:
        condition, *names = path.split("/", 2)
        if names == [TARGETS]:
            scored.add(condition)
        elif len(names) != 2 or kinds.setdefault(condition, names[0]) != names[0]:
            raise ValueError(f"{path!r} is no array of a prediction")
    if scored != kinds.keys():
        raise ValueError("predictions without targets, or targets without predictions")
    return kinds


def unpack(content: bytes, class_of: Callable[[str], Any] = kind_of) -> Predictions:
    """Return the predictions that `pack` made; raises what `class_of` raises for a class's name."""
    predictions: dict[str, tuple[Predictive, Tensor]] = {}
    for condition, stored in stored_arrays(content).items():
        arrays = {name: torch.from_numpy(array) for name, array in stored.arrays.items()}
        prediction = class_of(stored.kind).unpack(arrays)
        predictions[condition] = prediction, torch.from_numpy(stored.targets)
    return predictions


def stored_form(prediction: Predictive, conditions: int = 1) -> Predictive:
    """Return the prediction to store and score: itself, or its summary if it is too large."""
    most = min(KEPT_DRAWS_BYTES, KEPT_RUN_BYTES // conditions)
    summarise = getattr(prediction, "summary", None)
    return summarise() if summarise and _size(prediction) > most else prediction


def stored_of_earlier_rounds(
    predictions: Predictions, limited: bool = True
) -> dict[str, tuple[Predictive, Tensor]]:
    """Return the predictions to store for rounds of active learning before the last.

    A prediction with a summary is stored as its summary, any other if it has at most
    `KEPT_ROUND_BYTES` or sizes are not `limited`. The scores of all rounds are always stored.
    """
    kept_predictions: dict[str, tuple[Predictive, Tensor]] = {}
    for condition, (prediction, targets) in predictions.items():
        if summarise := getattr(prediction, "summary", None):
            kept_predictions[condition] = (summarise(), targets)
        elif not limited or _size(prediction) <= KEPT_ROUND_BYTES:
            kept_predictions[condition] = (prediction, targets)
    return kept_predictions


def _size(prediction: Predictive) -> int:
    return sum(tensor.nbytes for tensor in vars_of(prediction).values())
