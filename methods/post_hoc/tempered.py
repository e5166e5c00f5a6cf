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
    PriorUse,
    Problem,
    Unsupported,
    prior_use,
)
from bnnbench.methods.card import Card
from bnnbench.methods.fitting import progress
from bnnbench.methods.fitting.batched import Batched
from bnnbench.methods.tuning.fits import fit_all
from bnnbench.methods.tuning.rows import checksum, held_out, stream
from bnnbench.methods.tuning.space import Space, compose, space_of
from bnnbench.methods.tuning.temperature import (
    TemperedPosterior,
    best_temperature,
    mixture_log_probs,
)


@dataclass(frozen=True)
class Tempered(Batched):
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

    @property
    def prior_use(self) -> PriorUse | None:
        """The prior use of the inner method."""
        return prior_use(self.method)

    @property
    def space(self) -> Space:
        """The search space of the inner method."""
        return compose("method", space_of(self.method))

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem; raises `Unsupported` for a regression."""
        for problem in problems:
            if not isinstance(problem.likelihood, Categorical):
                raise Unsupported(f"Tempered needed classes; got {problem.likelihood}")
        cases = [held_out(problem, 1)[0] for problem in problems]
        methods = [self.method] * len(problems)
        with progress.part(0, 2):
            partial = fit_all(methods, [case.problem for case in cases], rngs).results
        with progress.part(1, 2):
            known = problems[0].calibration is not None  # the first fits have seen all rows
            whole = partial if known else fit_all(methods, problems, rngs).results
        fitted: list[Posterior | InferenceDiverged] = []
        for problem, case, trained, posterior in zip(problems, cases, partial, whole, strict=True):
            if isinstance(trained, InferenceDiverged):
                fitted.append(InferenceDiverged(f"without a fifth of the rows: {trained}"))
            elif isinstance(posterior, InferenceDiverged):
                fitted.append(posterior)
            else:
                draws = stream("temperature", checksum(problem.train), device=case.inputs.device)
                log_probs = mixture_log_probs(trained, case.inputs, draws)
                temperature = best_temperature(log_probs, case.block.targets)
                fitted.append(TemperedPosterior(posterior, temperature))
        return fitted
