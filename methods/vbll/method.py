r"""VBLL: a variational Bayesian last layer, trained together with its features.

With features $\phi(x)$ of the last hidden layer and a 1, a regression is $y = w^T \phi + e$ with
$e \sim N(0, s^2)$, and a classifier has such a noisy logit for each class. Network, variational
posterior $N(m, L L^T)$ of every head and noise maximise, per row, a bound on the log evidence: the
expected log likelihood in closed form (for classes Jensen's bound on it) minus the divergence from
the prior. The noise has an inverse Wishart prior.

Source: Harrison, Willes and Snoek (2024), "Variational Bayesian Last Layers".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.batched import Variants
from bnnbench.methods.fitting.settings import require_between, require_count, require_positive
from bnnbench.methods.fitting.training import Schedule, check_descent
from bnnbench.methods.tuning.space import Log, Space
from bnnbench.methods.vbll.ascent import Ascent
from bnnbench.methods.vbll.posterior import VbllPosterior


@dataclass(frozen=True)
class Vbll(Variants):
    """Gaussian last layers over learned features; every output has a separate head and noise.

    A regression's prediction is one Gaussian per point. A classifier's averages `draws` of the
    weights, each over the noise of its logits. A trained network continues from its weights: its
    last layer is the initial mean.
    """

    card: ClassVar[Card] = Card("variational")
    prior_use: ClassVar[PriorUse] = "own"
    of_predictions: ClassVar = ("draws", "joint")
    space: ClassVar[Space] = Space(
        {
            "learning_rate": Log(3e-4, 1e-1),
            "weight_decay": Log(1e-4, 3.0),
            "prior_scale": Log(0.1, 30.0),
        },
        length="epochs",
    )
    per_member: ClassVar = (
        *("learning_rate", "weight_decay", "prior_scale", "epochs"),
        *("draws", "joint", "exact"),
    )

    learning_rate: float = 3e-3
    weight_decay: float = 1e-4
    """Weight decay of the layers before the last."""
    prior_scale: float = 1.0
    """Prior variance of a last weight: for classes this, for regression this over the features."""
    degrees: float = 1.0
    """Degrees of freedom of the noise's inverse Wishart prior."""
    noise_scale: float | None = None
    """Scale of the noise's prior, a variance; None: 0.01 for regression, 1 for classes."""
    initial_noise_std: float = 0.5
    """Standard deviation of the noise before training, unless it is given."""
    clip: float = 1.0
    """Largest norm of a step's gradient."""
    exact: bool = False
    """If true, a regression's last layer is its exact posterior, for final features and noise."""
    epochs: int = 100
    batch_size: int = 32
    schedule: Schedule = "cosine"
    draws: int = 100
    joint: bool = False
    """If true, a regression's prediction is a mixture over `draws` of the weights, too."""

    def __post_init__(self) -> None:
        check_descent(self)
        require_between(self, 0.0, math.inf, "weight_decay", "degrees")
        require_positive(self, "prior_scale", "initial_noise_std", "clip")
        require_count(self, "draws")
        if self.noise_scale is not None:
            require_positive(self, "noise_scale")

    def from_fit(self, posterior: Posterior) -> Posterior:
        """Return the posterior of a fit that differs only in predictions."""
        assert isinstance(posterior, VbllPosterior)
        return replace(posterior, draws=self.draws, joint=self.joint)

    @classmethod
    def fit_side_by_side(
        cls,
        variants: "Sequence[Vbll]",
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        ascent = Ascent(variants, problems, rngs)
        lengths = [variant.epochs for variant in variants]
        ascent.stack.run(lengths, ascent.step, ascent.optimiser, variants[0].schedule)
        return ascent.posteriors(problems)
