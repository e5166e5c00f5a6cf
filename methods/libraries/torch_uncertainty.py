"""A deep ensemble and Monte Carlo dropout by the wrappers of torch-uncertainty.

Sources: Lakshminarayanan, Pritzel and Blundell (2017), "Simple and Scalable Predictive Uncertainty
Estimation using Deep Ensembles"; Gal and Ghahramani (2016), "Dropout as a Bayesian Approximation".
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from bnnbench.methods.base import Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.randomness import spawn
from bnnbench.methods.fitting.settings import require_between, require_count, require_positive
from bnnbench.methods.libraries.adapter import (
    SEQUENTIAL,
    OfLibrary,
    fitted,
    initial_weights,
    require_layers,
)
from bnnbench.methods.mc_dropout import dropout_refusal, has_dropout, with_dropout
from bnnbench.methods.tuning.space import Log, Space

DESCENT = {"learning_rate": Log(3e-4, 1e-1), "weight_decay": Log(1e-4, 3.0)}


@dataclass(frozen=True)
class _Trained(OfLibrary):
    """Networks trained by torch's AdamW in the library's process, from our initial weights."""

    library: ClassVar[str] = "torch-uncertainty"
    script: ClassVar[str] = "bnnbench.methods.libraries.inside.torch_uncertainty_wrappers"
    prior_use: ClassVar[PriorUse] = "none"

    learning_rate: float = 1e-3
    weight_decay: float = 1e-2
    epochs: int = 25
    batch_size: int = 128

    def __post_init__(self) -> None:
        require_positive(self, "learning_rate")
        require_between(self, 0.0, math.inf, "weight_decay")
        require_count(self, "epochs", "batch_size")


@dataclass(frozen=True)
class TorchUncertaintyEnsemble(_Trained):
    """A deep ensemble by torch-uncertainty, of networks trained by torch's AdamW."""

    card: ClassVar[Card] = Card("ensembles")
    label: ClassVar[str] = "torch-uncertainty: deep ensemble"
    space: ClassVar[Space] = Space(DESCENT, length="epochs", learned_noise=True)

    size: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        require_count(self, "size", least=2)

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; raises `PackageMissing` without the library."""
        require_layers(problem, self, SEQUENTIAL)
        if problem.start is not None:
            raise Unsupported(
                "all members of an ensemble would start from the one trained network: use "
                "Checkpoints(files) with several trained networks"
            )
        starts = [initial_weights(problem, each) for each in spawn(rng, self.size)]
        return fitted(self, problem, rng, {"starts": torch.stack(starts)})


@dataclass(frozen=True)
class TorchUncertaintyDropout(_Trained):
    """Monte Carlo dropout by torch-uncertainty, before linear layers that follow other layers."""

    card: ClassVar[Card] = Card(
        "ensembles",
        problems=("mlp regression", "mlp classification", "cnn regression", "cnn classification"),
    )
    label: ClassVar[str] = "torch-uncertainty: MC dropout"
    space: ClassVar[Space] = Space(
        DESCENT | {"rate": Log(1e-3, 0.3)}, length="epochs", learned_noise=True
    )

    rate: float = 0.1
    """Probability that a unit is dropped."""
    draws: int = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        require_between(self, 0.0, 1.0, "rate")
        require_positive(self, "rate")
        require_count(self, "draws", least=2)

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; raises `PackageMissing` without the library."""
        require_layers(problem, self, SEQUENTIAL)
        dropped = with_dropout(problem.architecture, self.rate, "hidden")
        if not has_dropout(dropped):
            raise Unsupported(dropout_refusal(problem.architecture, "hidden"))
        start = initial_weights(problem, rng)
        return fitted(self, replace(problem, architecture=dropped), rng, {"starts": start[None]})
