r"""SNGP: a Gaussian process of random features over a distance-preserving residual network.

Residual blocks $h + \mathrm{relu}(W h + b)$, every W of a spectral norm of at most c, follow a
fixed random linear layer. The last hidden vector, normalised, enters M random features, and the
posterior of each class's weights is a Laplace approximation, summed exactly over the training rows.
The prediction is the mean-field approximation of the mean softmax.

Source: Liu et al. (2020), "Simple and Principled Uncertainty Estimation with Deterministic Deep
Learning via Distance Awareness".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.batched import Variants
from bnnbench.methods.fitting.settings import require_between, require_count, require_positive
from bnnbench.methods.fitting.targets import require_classes, require_output_per_target
from bnnbench.methods.fitting.training import Schedule, check_descent
from bnnbench.methods.sngp.posterior import SngpPosterior
from bnnbench.methods.sngp.training import Training
from bnnbench.methods.tuning.space import Log, Space


@dataclass(frozen=True)
class Sngp(Variants):
    """Classification of vectors by a network of this method, in place of the problem's.

    For a trained network or images, use it on the last layer (`OnLastLayer`).
    """

    card: ClassVar[Card] = Card("Laplace", problems=("mlp classification",))
    prior_use: ClassVar[PriorUse] = "own"
    of_predictions: ClassVar = ("mean_field_factor", "draws")
    space: ClassVar[Space] = Space(
        {
            "learning_rate": Log(3e-4, 1e-1),
            "weight_decay": Log(1e-4, 3.0),
            "norm_bound": Log(0.95, 20.0),
            "mean_field_factor": Log(0.1, 3.0),
        },
        length="epochs",
    )
    per_member: ClassVar = (
        *("learning_rate", "weight_decay", "norm_bound", "epochs"),
        *("mean_field_factor", "draws"),
    )

    width: int = 128
    """Units of the residual blocks."""
    blocks: int = 2
    """Residual blocks."""
    features: int = 256
    """Random features of the Gaussian process."""
    norm_bound: float | None = 0.95
    """Bound on the spectral norm of each residual matrix; None: no bound."""
    squared_length: float | None = None
    """Squared length scale of the kernel; None: the width, the squared norm of a hidden vector."""
    ridge: float = 1.0
    """Precision of the prior of the last weights."""
    mean_field_factor: float = math.pi / 8
    """Factor of a logit's variance in the mean-field prediction."""
    learning_rate: float = 3e-3
    weight_decay: float = 1e-4
    """Weight decay of the residual blocks."""
    epochs: int = 100
    batch_size: int = 32
    schedule: Schedule = "cosine"
    draws: int = 0
    """Draws of the last weights that a prediction averages; 0: the mean-field prediction."""

    def __post_init__(self) -> None:
        check_descent(self)
        require_count(self, "width", "features")
        require_count(self, "blocks", "draws", least=0)
        require_between(self, 0.0, math.inf, "weight_decay", "mean_field_factor")
        require_positive(self, "ridge")
        optional = ("norm_bound", "squared_length")
        require_positive(self, *(name for name in optional if getattr(self, name) is not None))

    def from_fit(self, posterior: Posterior) -> Posterior:
        """Return the posterior of a fit that differs only in predictions."""
        assert isinstance(posterior, SngpPosterior)
        return replace(posterior, draws=self.draws, mean_field_factor=self.mean_field_factor)

    @classmethod
    def fit_side_by_side(
        cls,
        variants: "Sequence[Sngp]",
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        first = problems[0]
        require_classes(variants[0], first.likelihood)
        require_output_per_target(first)
        if len(first.input_shape) != 1:
            raise Unsupported(
                f"needed vectors as inputs; got the shape {first.input_shape}: use "
                "OnLastLayer(Sngp()) on a trained network"
            )
        training = Training(variants, problems, rngs)
        training.run()
        return training.posteriors(problems)
