"""Predictions as the bytes of one npz file, and which of them are kept."""

import importlib
import io
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bnnbench.methods.predictions import PREDICTIVES
from bnnbench.methods.predictions.base import Predictive
from bnnbench.suites.engine.declare import names

Predictions = Mapping[str, tuple[Predictive, Tensor]]
"""condition → prediction and targets, both as the method saw them"""

KEPT_DRAWS_BYTES = 64 * 2**20
"""Predictions of a condition beyond this are kept as their summary, where they have one."""

KEPT_RUN_BYTES = 256 * 2**20
"""Many conditions share this, alike, for their draws: each run is packed in memory as a whole."""

KEPT_ROUND_BYTES = 64 * 2**10
"""Active learning keeps a regression's draws of a round before the last up to this size."""


class NotImported(ValueError):
    """Predictions are of a stranger's class whose module this process has not imported."""


def kind_of(name: str) -> type[Predictive]:
    """Return the class of predictions that are kept under a name.

    A stranger's class is found only where something has imported its module already: to read a
    store runs no foreign code. Raises `NotImported` elsewhere, ValueError for an unknown name.
    """
    if name.partition(":")[2] and not name.startswith(names.PROJECT):
        return _imported(name)
    earlier = {path.rpartition(":")[2]: path for path in PREDICTIVES.values()}
    path = PREDICTIVES.get(name) or earlier.get(name)  # schema 2 kept them by their class
    if path is None:
        raise ValueError(f"predictions of an unknown kind, {name!r}")
    module, _, kind = path.partition(":")
    return getattr(importlib.import_module(module), kind)


def _imported(path: str) -> type[Predictive]:
    module, _, kind = path.partition(":")
    found = sys.modules.get(module)
    main = sys.modules["__main__"]
    if found is None and (spec := getattr(main, "__spec__", None)) and spec.name == module:
        found = main
    for part in kind.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type):
        raise NotImported(
            f"they are of the class {path}, which this process has not imported, and to read a "
            f"store imports nothing foreign: `import {module}` first, with its folder on the path"
        )
    return found


def name_of(prediction: object) -> str:
    """Return the name under which a prediction is kept; raises TypeError where it cannot be."""
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
        arrays[f"{condition}/targets"] = targets.cpu().numpy()
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def vars_of(prediction: Any) -> dict[str, Tensor]:
    """Return what a prediction packs, as tensors.

    Raises TypeError for what the store cannot keep.
    """
    kind = name_of(prediction)
    packed = prediction.pack()
    if not packed:
        raise TypeError(f"needed at least one array; {kind} packs none")
    return {name: _tensor(array, f"{name!r} of {kind}") for name, array in packed.items()}


def _tensor(array: np.ndarray | Tensor, what: str) -> Tensor:
    if isinstance(array, Tensor):
        return array.detach()
    try:
        return torch.from_numpy(np.ascontiguousarray(array).reshape(np.shape(array)))
    except TypeError as error:
        kind = f"{type(array).__name__} of {getattr(array, 'dtype', 'no type')}"
        raise TypeError(f"needed an array of numbers for {what}; got {kind}") from error


def unpack(content: bytes) -> Predictions:
    """Return the predictions that `pack` made; raises `NotImported` for a stranger's class."""
    fields: dict[str, dict[str, Tensor]] = {}
    targets: dict[str, Tensor] = {}
    kinds: dict[str, str] = {}
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        for path in arrays.files:
            condition, *rest = path.split("/", 2)
            if rest == ["targets"]:
                targets[condition] = torch.from_numpy(arrays[path])
            else:
                kinds[condition], name = rest
                fields.setdefault(condition, {})[name] = torch.from_numpy(arrays[path])
    return {c: (kind_of(kinds[c]).unpack(fields[c]), targets[c]) for c in targets}


def kept(prediction: Predictive, conditions: int = 1) -> Predictive:
    """Return what the store keeps of a prediction, one of so many, which is also what is scored."""
    most = min(KEPT_DRAWS_BYTES, KEPT_RUN_BYTES // conditions)
    summarise = getattr(prediction, "summary", None)
    return summarise() if summarise and _size(prediction) > most else prediction


def kept_of_earlier(predictions: Predictions) -> dict[str, tuple[Predictive, Tensor]]:
    """Return what is kept of rounds of active learning before the last.

    Where a prediction has a summary that, of other predictions those of at most
    `KEPT_ROUND_BYTES`; the scores of all rounds are kept in any case.
    """
    found: dict[str, tuple[Predictive, Tensor]] = {}
    for condition, (prediction, targets) in predictions.items():
        if summarise := getattr(prediction, "summary", None):
            found[condition] = (summarise(), targets)
        elif _size(prediction) <= KEPT_ROUND_BYTES:
            found[condition] = (prediction, targets)
    return found


def _size(prediction: Predictive) -> int:
    return sum(tensor.nbytes for tensor in vars_of(prediction).values())
