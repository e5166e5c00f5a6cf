"""Monte Carlo dropout: dropout stays on at test time, and each mask is one draw.

Source: Gal and Ghahramani (2016), "Dropout as a Bayesian Approximation".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.batched import Stacked
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.point_estimate import Settings, descend
from bnnbench.methods.fitting.randomness import spawn
from bnnbench.methods.fitting.settings import (
    earlier,
    require_between,
    require_choice,
    require_count,
    require_positive,
)
from bnnbench.methods.networks.architectures import (
    Architecture,
    Conv2d,
    Dropout,
    Layer,
    Linear,
    Residual,
    TorchModule,
)
from bnnbench.methods.networks.modules.drawing import drops
from bnnbench.methods.predictions.predictive import Predictive
from bnnbench.methods.tuning.space import Log, Space, compose, space_of

Where = Literal["hidden", "every"]
"""Units that are dropped: only hidden ones, or inputs too."""

WEIGHTED = (Linear, Conv2d, Residual, TorchModule)


@dataclass(frozen=True)
class McDropoutPosterior:
    """One weight vector whose units are dropped at random, a mask per draw."""

    trained: NetworkPosterior
    draws: int

    @property
    def diagnostics(self) -> dict[str, float]:
        """Diagnostics of the fit."""
        return self.trained.diagnostics

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the mixture over masks; a mask drops the same units at every point."""
        weights, seeds = self._draws(rng)
        return self.trained.predict_with(weights, inputs, noise="shared", seeds=seeds)

    def log_probs(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float[Tensor, "points classes"]:
        """Return the log of the mean probabilities over masks, with gradient."""
        weights, seeds = self._draws(rng)
        return self.trained.log_probs_with(weights, inputs, noise="shared", seeds=seeds)

    def _draws(self, rng: torch.Generator) -> tuple[Float[Tensor, "draws parameters"], list[int]]:
        """Return the weights, repeated for each mask, and the seeds of the masks."""
        seeds = [mask.initial_seed() for mask in spawn(rng, self.draws)]
        return self.trained.weights.expand(self.draws, -1), seeds


@dataclass(frozen=True)
class McDropout(Stacked):
    """A point estimate with dropout before linear layers, in predictions too.

    A custom module keeps its own dropout layers and rates.
    """

    card: ClassVar[Card] = Card(
        "ensembles",
        problems=("mlp regression", "mlp classification", "cnn regression", "cnn classification"),
    )
    prior_use: ClassVar[PriorUse] = "none"

    rate: float = 0.1
    """Probability that a unit is dropped."""
    draws: int = 32
    training: Settings = field(default_factory=AdamW)
    where: Where = field(default="hidden", metadata=earlier("every"))
    """hidden: before linear layers, except one that reads the inputs; every: inputs too."""

    def __post_init__(self) -> None:
        require_between(self, 0.0, 1.0, "rate")
        require_positive(self, "rate")
        require_count(self, "draws")
        require_choice(self, "where", get_args(Where))

    @property
    def space(self) -> Space:
        """The search space; the wrapped training's settings come first."""
        return compose(
            "training", space_of(self.training), Space({"rate": Log(1e-3, 0.3)}, learned_noise=True)
        )

    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        before = problems[0].architecture
        architecture = with_dropout(before, self.rate, self.where)
        if not has_dropout(architecture):
            raise Unsupported(dropout_refusal(before, self.where))
        stack = descend([self.training] * len(problems), problems, rngs, architecture=architecture)
        posteriors = [
            McDropoutPosterior(stack.posterior(m), self.draws) for m in range(len(problems))
        ]
        return stack.outcomes(posteriors)


def with_dropout(
    architecture: Architecture, rate: float, where: Where, reads_inputs: bool = True
) -> Architecture:
    """Return the network with dropout before its linear layers.

    "hidden" leaves out linear layers that read the inputs, with no weighted layer before them. A
    layer that already has dropout gets no more; a module keeps its own.
    """
    dropped: list[Layer] = []
    for layer in architecture:
        if isinstance(layer, Linear) and not (reads_inputs and where == "hidden"):
            if not isinstance(dropped[-1] if dropped else None, Dropout):
                dropped.append(Dropout(rate))
        elif isinstance(layer, Residual):
            branches = layer.body, layer.shortcut
            layer = Residual(*(with_dropout(b, rate, where, reads_inputs) for b in branches))
        dropped.append(layer)
        reads_inputs = reads_inputs and not isinstance(layer, WEIGHTED)
    return tuple(dropped)


def dropout_refusal(architecture: Architecture, where: Where) -> str:
    """Return the message for a network that has no layer for dropout."""
    hidden = 'behind another layer with weights (where="hidden"), ' * (where == "hidden")
    return (
        f"needed a network with a linear layer {hidden}or a module with nn.Dropout; got "
        f"{', '.join(map(str, architecture))}"
    )


def has_dropout(architecture: Architecture) -> bool:
    """Return whether a network contains dropout."""
    return any(
        isinstance(layer, Dropout)
        or (isinstance(layer, TorchModule) and drops(layer))
        or (isinstance(layer, Residual) and has_dropout((*layer.body, *layer.shortcut)))
        for layer in architecture
    )
