"""Label smoothing: a classifier trained to keep some probability for every class.

Source: Szegedy, Vanhoucke, Ioffe, Shlens and Wojna (2016), "Rethinking the Inception Architecture
for Computer Vision", section 7.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.batched import Stacked
from bnnbench.methods.fitting.point_estimate import Settings, descend, require_descent
from bnnbench.methods.fitting.settings import require_between
from bnnbench.methods.fitting.targets import require_classes
from bnnbench.methods.tuning.space import Log, Space, compose, space_of


@dataclass(frozen=True)
class LabelSmoothing(Stacked):
    """A point estimate from labels with a `share` spread equally over all classes."""

    card: ClassVar[Card] = Card(
        "point estimates", problems=("mlp classification", "cnn classification")
    )

    share: float = 0.05
    """The share of a training label that is spread equally over all classes."""
    training: Settings = field(default_factory=AdamW)

    prior_use: ClassVar[PriorUse] = "none"

    def __post_init__(self) -> None:
        require_between(self, 0.0, 1.0, "share")

    @classmethod
    def matching_function_space(cls, training: Settings, classes: int) -> "LabelSmoothing":
        """Return the method with the gradient of the variational objective with one function.

        That objective, from paper 003, spreads the share K / (B + K) of each label over K classes,
        where B is the batch size.
        """
        return cls(classes / (training.batch_size + classes), training)

    @property
    def space(self) -> Space:
        """The search space; the wrapped training's settings come first."""
        return compose("training", space_of(self.training), Space({"share": Log(1e-3, 0.3)}))

    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the point estimate of each problem; raises `Unsupported` for a regression."""
        require_classes(self, problems[0].likelihood)
        require_descent(self, self.training)
        settings = [self.training] * len(problems)
        stack = descend(settings, problems, rngs, label_smoothing=self.share)
        return stack.outcomes([stack.posterior(m) for m in range(len(problems))])
