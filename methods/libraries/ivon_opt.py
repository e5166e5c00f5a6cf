"""IVON by ivon-opt, its authors' optimiser, in a separate process because of its licence, the GPL.

Source: Shen et al. (2024), "Variational Learning is Effective for Large Deep Networks".
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch

from bnnbench.methods.base import Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.settings import require_between, require_count, require_positive
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.libraries.adapter import (
    SEQUENTIAL,
    OfLibrary,
    fitted,
    initial_weights,
    require_layers,
)
from bnnbench.methods.tuning.space import Space


@dataclass(frozen=True)
class IvonOpt(OfLibrary):
    """IVON by its authors' optimiser, with our initial weights and the settings of our `Ivon`."""

    card: ClassVar[Card] = Card("variational")
    label: ClassVar[str] = "ivon-opt: IVON"
    library: ClassVar[str] = "ivon-opt"
    script: ClassVar[str] = "bnnbench.methods.libraries.inside.ivon_opt"
    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Ivon.space

    learning_rate: float = 0.1
    initial_hessian: float = 1.0
    """Initial estimate of the Hessian's diagonal."""
    beta1: float = 0.9
    """Decay of the running mean of gradients."""
    beta2: float = 0.99999
    """Decay of the running mean of the Hessian."""
    weight_decay: float = 1e-4
    epochs: int = 25
    batch_size: int = 128
    draws: int = 100

    def __post_init__(self) -> None:
        require_positive(self, "learning_rate", "initial_hessian")
        require_between(self, 0.0, 1.0, "beta1", "beta2")
        require_between(self, 0.0, math.inf, "weight_decay")
        require_count(self, "epochs", "batch_size")
        require_count(self, "draws", least=0)

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; raises `PackageMissing` without the library."""
        require_layers(problem, self, SEQUENTIAL)
        return fitted(self, problem, rng, {"weights": initial_weights(problem, rng)})
