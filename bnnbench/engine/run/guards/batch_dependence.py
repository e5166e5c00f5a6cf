"""Predictions that depend on the other rows of their batch, found by predicting again.

A posterior predicts each point by itself. One that takes statistics of the whole call, as batch
normalisation in training mode does, uses test inputs to predict test inputs.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from bnnbench.engine.run.guards.validation import ANSWERS
from bnnbench.methods.predictions.base import CannotAnswer

FEWEST_ROWS = 2
SHARE = 10
"""One row in `SHARE` is predicted again."""

TOLERANCE = 1e-3
"""Largest difference due to rounding, of probabilities or relative to the numbers' spread."""

TRANSDUCTIVE = "predictions depend on the other rows that are predicted with them"
UNREPEATABLE = "predictions differ from call to call under one random stream"

Predict = Callable[[Tensor], Any]
"""A function from inputs to their prediction, under the same random stream at every call."""


def batch_dependence(
    predict: Predict, inputs: Tensor, prediction: Any, rng: torch.Generator
) -> str:
    """Return how a prediction depends on the other rows of its batch; "" if it does not.

    A random tenth of the rows is predicted again by itself, in another order; `rng` chooses it. All
    of `validation.ANSWERS` that the prediction has are compared; a prediction with none passes.
    """
    if len(inputs) < FEWEST_ROWS:
        return ""
    count = max(FEWEST_ROWS, len(inputs) // SHARE)
    rows = torch.randperm(len(inputs), generator=rng)[:count]
    if _alike(prediction, rows, predict(inputs[rows])):
        return ""
    everything = torch.arange(len(inputs))
    return TRANSDUCTIVE if _alike(prediction, everything, predict(inputs)) else UNREPEATABLE


def _alike(prediction: Any, rows: Tensor, again: Any) -> bool:
    """Return whether all answers for the rows are unchanged up to rounding."""
    return all(
        _close(before[rows.to(before.device)], after)
        for name in ANSWERS
        if (before := _answer(prediction, name)) is not None
        and (after := _answer(again, name)) is not None
    )


def _answer(prediction: Any, name: str) -> Tensor | None:
    try:
        value = getattr(prediction, name)
    except (AttributeError, CannotAnswer):
        return None
    if not isinstance(value, Tensor) or not value.dim() or len(value) != len(prediction):
        return None
    value = value.detach().double()
    return value.exp() if name == "mixture_log_probs" else value


def _close(before: Tensor, after: Tensor) -> bool:
    if before.shape != after.shape:
        return False
    spread = before.std(0) if len(before) > 1 else before.abs()
    after = after.to(before.device)
    near = (before - after).abs() <= TOLERANCE * (1 + spread)
    return bool((near | (before == after)).all())
