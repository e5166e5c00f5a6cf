"""A posterior with all that it needs to predict rows of a table like the one it was fitted to."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Scaling, Target
from bnnbench.datasets.own.preparation import Answers, Preparation
from bnnbench.datasets.own.reading import read
from bnnbench.datasets.reading.scales import single
from bnnbench.methods.base import Posterior
from bnnbench.methods.predictions import base
from bnnbench.methods.predictions.inversion import quantile

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Levels of quantiles, unless the method predicts others."""
ROWS_AT_ONCE = 10_000


@dataclass(frozen=True)
class TableModel:
    """A posterior, what turns rows into its inputs, and the scale of its target."""

    posterior: Posterior
    preparation: Preparation
    answers: Answers
    scaling: Scaling
    """Mean and standard deviation of every feature."""
    target: Target | None
    """Standardisation of a target of numbers; None for classes."""
    label: str
    """The method's name in tables."""
    method: Any
    """The method with its settings."""

    def predict(
        self, table: pd.DataFrame, levels: Sequence[float] | None = None, *, seed: int = 0
    ) -> pd.DataFrame:
        """Return the prediction of each row, on the target's own scale and with the rows' index.

        Numbers: `mean`, `deviation` (standard deviation, noise included) and `quantile_` with a
        level, for each of `levels` or of 0.05, 0.25, 0.5, 0.75 and 0.95. Classes: the most probable
        `class`, and `p_` with a class for its probability. What a method does not predict, such as
        the mean of an interval, is absent. Columns may be in any order; others are ignored. `seed`
        is for methods that draw. Raises `BadTable` if columns are missing or cannot be read as in
        training.
        """
        inputs = self.inputs(table)
        # A row is made up if there is none, for the columns.
        given = inputs if len(inputs) else inputs.new_zeros(1, inputs.shape[1])
        parts = [self._columns(part, levels, seed) for part in given.split(ROWS_AT_ONCE)]
        frame = pd.concat([pd.DataFrame(dict(part)) for part in parts], ignore_index=True)
        return frame.iloc[: len(inputs)].set_axis(table.index)

    def predictive(self, table: pd.DataFrame, *, seed: int = 0) -> Any:
        """Return the predictive distribution of all rows, on the target's own scale."""
        return self._predictive(self.inputs(table), seed)

    def read(self, path: str) -> pd.DataFrame:
        """Return the rows of a file, read like the file of the table; raises `BadTable`."""
        return read(path, self.preparation.texts)

    def inputs(self, table: pd.DataFrame) -> Float[Tensor, "rows features"]:
        """Return the standardised features of the rows; raises `BadTable` like `predict`."""
        features = torch.from_numpy(self.preparation.inputs(table))
        return single(self.scaling.apply(features), self.preparation.names)

    def _predictive(self, inputs: Float[Tensor, "rows features"], seed: int) -> Any:
        prediction: Any = self.posterior.predict(inputs, torch.Generator().manual_seed(seed))
        if self.target is None:
            return prediction
        return prediction.rescaled(self.target.mean, self.target.std)

    def _columns(
        self, inputs: Float[Tensor, "rows features"], levels: Sequence[float] | None, seed: int
    ) -> Iterator[tuple[str, np.ndarray]]:
        prediction = self._predictive(inputs, seed)
        if self.target is None:
            return _classes(prediction, self.answers.labels)
        return _numbers(prediction, levels)


def _classes(prediction: Any, labels: Sequence[str]) -> Iterator[tuple[str, np.ndarray]]:
    if isinstance(prediction, base.HasProbabilities):
        probabilities = prediction.mixture_log_probs.exp().numpy()
        yield "class", np.array(labels, object)[probabilities.argmax(1)]
        for place, label in enumerate(labels):
            yield f"p_{label}", probabilities[:, place]
    if isinstance(prediction, base.HasSet):
        for place, label in enumerate(labels):
            yield f"in_set_{label}", prediction.members[:, place].numpy()


def _numbers(prediction: Any, levels: Sequence[float] | None) -> Iterator[tuple[str, np.ndarray]]:
    if isinstance(prediction, base.HasMean):
        yield "mean", prediction.mean[:, 0].numpy()
    if isinstance(prediction, base.HasVariance):
        yield "deviation", prediction.variance[:, 0].sqrt().numpy()
    if isinstance(prediction, base.HasCdf | base.HasQuantiles):
        grid = prediction.levels.tolist() if isinstance(prediction, base.HasQuantiles) else LEVELS
        for level in grid if levels is None else levels:
            yield f"quantile_{level:g}", quantile(prediction, level)[:, 0].numpy()
    if isinstance(prediction, base.HasInterval):
        yield "low", prediction.low[:, 0].numpy()
        yield "high", prediction.high[:, 0].numpy()
