"""Laplace's approximation by laplace-torch, around weights that our training found.

Source: Daxberger et al. (2021), "Laplace Redux: Effortless Bayesian Deep Learning".
"""

from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

import torch

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import BatchedMethod, Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.settings import require_choice, require_count, require_positive
from bnnbench.methods.fitting.targets import require_output_per_target
from bnnbench.methods.libraries.adapter import SEQUENTIAL, OfLibrary, fitted, require_layers
from bnnbench.methods.tuning.space import Log, Space, compose, space_of

Structure = Literal["kron", "full", "diag"]
Layers = Literal["all", "last"]
Link = Literal["probit", "mc", "bridge"]


@dataclass(frozen=True)
class LaplaceTorch(OfLibrary):
    """Laplace's approximation by laplace-torch, around the same weights as our `Laplace`."""

    card: ClassVar[Card] = Card("Laplace")
    label: ClassVar[str] = "laplace-torch: Laplace KFAC"
    library: ClassVar[str] = "laplace-torch"
    script: ClassVar[str] = "bnnbench.methods.libraries.inside.laplace_torch"
    prior_use: ClassVar[PriorUse] = "own"

    training: BatchedMethod = field(default_factory=AdamW)
    structure: Structure = "kron"
    """kron: two small matrices per layer; full: one matrix; diag: only variances."""
    layers: Layers = "all"
    """The layers whose weights are uncertain."""
    prior_precision: float | None = None
    """Prior precision; None maximises the evidence, which also sets the noise of a regression."""
    link: Link = "probit"
    """The library's approximation of a classifier's probabilities."""
    draws: int = 100
    """Number of draws for the link mc."""

    def __post_init__(self) -> None:
        for name, choices in (("structure", Structure), ("layers", Layers), ("link", Link)):
            require_choice(self, name, get_args(choices))
        require_count(self, "draws")
        if self.prior_precision is not None:
            require_positive(self, "prior_precision")

    @property
    def space(self) -> Space:
        """The search space: the training's, and the prior's unless the evidence chooses it."""
        chosen = {} if self.prior_precision is None else {"prior_precision": Log(1e-2, 1e4)}
        return compose("training", space_of(self.training), Space(chosen))

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; raises `PackageMissing` without the library."""
        require_layers(problem, self, SEQUENTIAL)
        require_output_per_target(problem, continues=True)
        (mode,) = self.training.fit_many([problem], [rng])
        if isinstance(mode, Exception):
            raise mode
        if not isinstance(mode, NetworkPosterior) or len(mode.weights) != 1:
            raise Unsupported(
                "needed a training that ends in one weight vector, such as AdamW or Sgd; got a "
                f"{type(mode).__name__}"
            )
        noise_std = None if mode.noise_variance is None else mode.noise_variance**0.5
        return fitted(self, problem, rng, {"weights": mode.weights[0]}, noise_std=noise_std)
