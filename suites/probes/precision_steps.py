"""Numbers of steps needed to fit Dirichlets to the draws at the test inputs.

Source: paper 003, appendix F.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch

from bnnbench.datasets.base import Dataset
from bnnbench.datasets.conditions import condition_names
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.engine.declare.probe import Measured
from bnnbench.methods.base import Posterior
from bnnbench.methods.predictions.dirichlet import (
    fit_of_precision,
    mean_of,
    reverse_mutual_information,
    smoothed,
)
from bnnbench.methods.predictions.predictive import CategoricalPredictive
from bnnbench.metrics import PROBED

STATISTICS: Mapping[str, float | None] = {
    "mean": None,
    "quantile_0.95": 0.95,
    "quantile_0.99": 0.99,
    "max": 1.0,
}
"""Printed name of a statistic → level of the quantile; None for the mean."""
ARITHMETIC = {"float64": torch.float64, "float32": torch.float32}


@dataclass(frozen=True)
class PrecisionSteps:
    """Mean and quantiles, over the test inputs, of the steps to the most likely precision.

    In float64, as in training, and in float32, where rounding keeps some from converging.
    Precisions lie between the number of classes and the number of training rows.
    """

    def measure(
        self, posterior: Posterior, dataset: Dataset, rng: torch.Generator
    ) -> Mapping[str, Measured]:
        """Return names such as "steps_float64_mean" → number of steps."""
        prediction = posterior.predict(dataset.test.inputs.to(rng.device), rng)
        if not isinstance(prediction, CategoricalPredictive):
            raise ValueError(f"needed draws of class probabilities; got {type(prediction)}")
        draws = smoothed(prediction.log_probs.exp())
        mean, spread = mean_of(draws), reverse_mutual_information(draws)
        bounds = float(draws.shape[-1]), float(len(dataset.train))
        measured: dict[str, Measured] = {}
        for name, dtype in ARITHMETIC.items():
            steps = fit_of_precision(mean.to(dtype), spread.to(dtype), *bounds).steps
            measured |= dict(_statistics(name, steps))
        return measured


def _statistics(arithmetic: str, steps: torch.Tensor) -> Iterator[tuple[str, Measured]]:
    for name, level in STATISTICS.items():
        score = float(PROBED["iterations"].score(steps, level))
        traits = Traits(f"{name.replace('_', ' ')} in {arithmetic}")
        yield condition_names.steps(arithmetic, name), Measured({"iterations": score}, traits)
