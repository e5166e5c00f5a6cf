"""A classifier whose probabilities are sharpened or flattened by one number.

Source: Guo, Pleiss, Sun and Weinberger (2017), "On Calibration of Modern Neural Networks".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch

from bnnbench.datasets.base import Categorical
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import (
    InferenceDiverged,
    Method,
    Posterior,
    Problem,
    Unsupported,
)
from bnnbench.methods.card import Card
from bnnbench.methods.post_hoc.around import Around, TwoFits, fit_twice
from bnnbench.methods.tuning.rows import checksum, stream
from bnnbench.methods.tuning.temperature import (
    TemperedPosterior,
    best_temperature,
    mixture_log_probs,
)


@dataclass(frozen=True)
class Tempered(Around):
    """A classifier with one number that sharpens or flattens its probabilities.

    The temperature minimises the log loss on a fifth of the training rows, predicted by a fit to
    the other rows, plus a penalty that keeps it near 1 where there are few; the method is then
    fitted to all. If there are calibration rows, they take the place of that fifth. Order of
    classes and accuracy do not change.
    """

    card: ClassVar[Card] = Card(
        problems=("mlp classification", "cnn classification"),
        around="one temperature is fitted to held-out rows",
    )

    method: Method = field(default_factory=AdamW)
    """The classifier and its settings."""

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem; raises `Unsupported` for a regression."""
        for problem in problems:
            if not isinstance(problem.likelihood, Categorical):
                raise Unsupported(f"Tempered needed classes; got {problem.likelihood}")
        fits = fit_twice(self.method, problems, rngs)
        return [_tempered(*pair) for pair in zip(problems, fits, strict=True)]


def _tempered(
    problem: Problem, fits: TwoFits | InferenceDiverged
) -> TemperedPosterior | InferenceDiverged:
    if isinstance(fits, InferenceDiverged):
        return fits
    case = fits.case
    draws = stream("temperature", checksum(problem.train), device=case.inputs.device)
    log_probs = mixture_log_probs(fits.partial, case.inputs, draws)
    return TemperedPosterior(fits.whole, best_temperature(log_probs, case.block.targets))
