"""A problem as passed to a library's process: arrays, numbers and texts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class Diverged(Exception):
    """Inference failed. This is a result and is recorded as such."""


class Unsupported(Exception):
    """The library does not cover such a problem; the message names the cause and the remedy."""


@dataclass(frozen=True)
class Task:
    """Training rows, the network and the settings of a fit."""

    settings: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]
    """inputs, targets, and any other arrays that the method sends."""
    classes: int | None
    """Number of classes; None for a regression."""
    noise_std: float | None
    """The stated noise of a regression; None if it is to be learned."""
    architecture: Sequence[Mapping[str, Any]]
    """Layers by name, with their settings, in the order of data flow."""
    seed: int
    report: Callable[[int, int, float], None]
    """Function of the finished steps, the total steps, and the loss."""


class Fitted(Protocol):
    """The result of a library's script."""

    @property
    def diagnostics(self) -> Mapping[str, float]: ...

    def predict(self, inputs: np.ndarray, seed: int) -> Mapping[str, np.ndarray]:
        """Return the arrays of a prediction, in one of these forms.

        log_probs (draws, points, classes); means and variances (draws, points, outputs), including
        noise; levels and values (points, outputs, levels). Draw `s` is the same function at every
        point, and equal seeds give equal draws, whatever the points are.
        """
        ...
