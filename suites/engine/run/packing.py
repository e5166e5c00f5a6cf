"""Predictions as the bytes of one npz file, and which of them are kept."""

import dataclasses
import importlib
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bnnbench.methods.predictions import PREDICTIVES
from bnnbench.methods.predictions.predictive import (
    CategoricalPredictive,
    Predictive,
)

Predictions = Mapping[str, tuple[Predictive, Tensor]]
"""condition → prediction and targets, both as the method saw them"""

KEPT_DRAWS_BYTES = 64 * 2**20
"""Categorical draws of a condition beyond this are kept as their summary."""

KEPT_RUN_BYTES = 256 * 2**20
"""Many conditions share this, alike, for their draws: each run is packed in memory as a whole."""

KEPT_ROUND_BYTES = 64 * 2**10
"""Active learning keeps a regression's draws of a round before the last up to this size."""


def kind_of(name: str) -> Any:
    """Return the class of predictions that are kept under a name; raises ValueError."""
    earlier = {path.rpartition(":")[2]: path for path in PREDICTIVES.values()}
    path = PREDICTIVES.get(name) or earlier.get(name)  # schema 2 kept them by their class
    if path is None:
        raise ValueError(f"predictions of an unknown kind, {name!r}")
    module, _, kind = path.partition(":")
    return getattr(importlib.import_module(module), kind)


def name_of(prediction: Predictive) -> str:
    """Return the name under which a prediction is kept; raises TypeError for other kinds."""
    path = f"{type(prediction).__module__}:{type(prediction).__qualname__}"
    for name, known in PREDICTIVES.items():
        if known == path:
            return name
    raise TypeError(f"a prediction is one of {', '.join(PREDICTIVES)}, not {type(prediction)}")


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


def vars_of(prediction: Predictive) -> dict[str, Tensor]:
    """Return the fields that a prediction has, without what it has cached.

    Raises TypeError for a kind of prediction that the store does not know.
    """
    name_of(prediction)
    names = [field.name for field in dataclasses.fields(prediction)]
    fields = {name: getattr(prediction, name) for name in names}
    return {name: tensor for name, tensor in fields.items() if tensor is not None}


def unpack(content: bytes) -> Predictions:
    """Return the predictions that `pack` made."""
    fields: dict[str, dict[str, Tensor]] = {}
    targets: dict[str, Tensor] = {}
    kinds: dict[str, str] = {}
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        for path in arrays.files:
            condition, *rest = path.split("/")
            if rest == ["targets"]:
                targets[condition] = torch.from_numpy(arrays[path])
            else:
                kinds[condition], name = rest
                fields.setdefault(condition, {})[name] = torch.from_numpy(arrays[path])
    return {c: (kind_of(kinds[c])(**fields[c]), targets[c]) for c in targets}


def kept(prediction: Predictive, conditions: int = 1) -> Predictive:
    """Return what the store keeps of a prediction, one of so many, which is also what is scored."""
    if not isinstance(prediction, CategoricalPredictive):
        return prediction
    most = min(KEPT_DRAWS_BYTES, KEPT_RUN_BYTES // conditions)
    return prediction.summary() if prediction.log_probs.nbytes > most else prediction


def kept_of_earlier(predictions: Predictions) -> dict[str, tuple[Predictive, Tensor]]:
    """Return what is kept of rounds of active learning before the last.

    Of class probabilities the mixture and its expected entropy, of other predictions those of
    at most `KEPT_ROUND_BYTES`; the scores of all rounds are kept in any case.
    """
    found: dict[str, tuple[Predictive, Tensor]] = {}
    for condition, (prediction, targets) in predictions.items():
        if isinstance(prediction, CategoricalPredictive):
            found[condition] = (prediction.summary(), targets)
        elif sum(tensor.nbytes for tensor in vars_of(prediction).values()) <= KEPT_ROUND_BYTES:
            found[condition] = (prediction, targets)
    return found
