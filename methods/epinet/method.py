r"""Epinet: a network whose output depends on a random index, for joint predictions.

The outputs of a base network get a learned and a fixed random function of an index
$z \sim N(0, I)$, see `bnnbench.methods.epinet.networks`. Base and epinet are trained together by
the mean loss over draws of z; each draw is one function of the inputs.

Source: Osband, Wen, Asghari, Dwaracherla, Ibrahimi, Lu and Van Roy (2023), "Epistemic Neural
Networks".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.epinet.posterior import EpinetPosterior
from bnnbench.methods.epinet.training import Training
from bnnbench.methods.fitting.batched import Variants
from bnnbench.methods.fitting.minibatches import require_unaugmented
from bnnbench.methods.fitting.settings import require_between, require_count
from bnnbench.methods.fitting.training import Schedule, check_descent
from bnnbench.methods.tuning.space import Log, Space


@dataclass(frozen=True)
class Epinet(Variants):
    """The problem's network with an epinet; for vectors as inputs.

    For regression the index changes the means and no variance. Prior networks are standardised on
    the training rows. A trained network continues from its weights (with `heteroscedastic=False`
    for a regression); for images, use it on the last layer (`OnLastLayer`).
    """

    card: ClassVar[Card] = Card(
        "ensembles", problems=("mlp regression", "mlp classification", "linear regression")
    )
    prior_use: ClassVar[PriorUse] = "own"
    of_predictions: ClassVar = ("draws",)
    space: ClassVar[Space] = Space(
        {
            "learning_rate": Log(3e-4, 1e-1),
            "weight_decay": Log(1e-4, 3.0),
            "prior_scale": Log(0.03, 3.0),
        },
        length="epochs",
    )
    per_member: ClassVar = ("learning_rate", "weight_decay", "prior_scale", "epochs", "draws")

    dimension: int = 8
    """Dimension of the index."""
    hidden: tuple[int, ...] = (15, 15)
    """Hidden units of the epinet's layers."""
    prior_hidden: tuple[int, ...] = (5, 5)
    """Hidden units of the layers of each prior network."""
    prior_scale: float = 0.3
    """Standard deviation of the prior function at a training row."""
    bootstrap_std: float = 0.0
    """Standard deviation of the index's perturbation of a regression's targets."""
    index_draws: int = 8
    """Draws of the index in a step, which all rows of the batch share."""
    learning_rate: float = 3e-3
    weight_decay: float = 1e-4
    epochs: int = 100
    batch_size: int = 32
    schedule: Schedule = "cosine"
    draws: int = 100
    """Draws of the index that a prediction averages."""
    heteroscedastic: bool = True

    def __post_init__(self) -> None:
        check_descent(self)
        require_count(self, "dimension", "index_draws", "draws")
        require_between(self, 0.0, math.inf, "weight_decay", "prior_scale", "bootstrap_std")

    def from_fit(self, posterior: Posterior) -> Posterior:
        """Return the posterior of a fit that differs only in `draws`, with this method's draws."""
        assert isinstance(posterior, EpinetPosterior)
        return replace(posterior, draws=self.draws)

    @classmethod
    def fit_side_by_side(
        cls,
        variants: "Sequence[Epinet]",
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        shape = problems[0].input_shape
        if len(shape) != 1:
            raise Unsupported(
                f"needed vectors as inputs; got the shape {shape}: use OnLastLayer(Epinet()) on a "
                "trained network"
            )
        require_unaugmented(problems, variants[0])
        training = Training(variants, problems, rngs)
        training.run()
        return training.posteriors()
