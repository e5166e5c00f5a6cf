"""The No-U-Turn samplers of blackjax and NumPyro, for the model of our Hamiltonian Monte Carlo.

Source: Hoffman and Gelman (2014), "The No-U-Turn Sampler: Adaptively Setting Path Lengths in
Hamiltonian Monte Carlo".
"""

from dataclasses import dataclass
from typing import ClassVar

import torch

from bnnbench.methods.base import Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.settings import require_between, require_count, require_positive
from bnnbench.methods.fitting.targets import require_output_per_target
from bnnbench.methods.libraries.adapter import PERCEPTRONS, OfLibrary, fitted, require_layers
from bnnbench.methods.networks.priors import scales
from bnnbench.methods.tuning.space import Space


@dataclass(frozen=True)
class Nuts(OfLibrary):
    """`draws` weight vectors recorded over all `chains`; each chain is adapted separately."""

    space: ClassVar[Space] = Space()
    prior_use: ClassVar[PriorUse] = "given"

    draws: int = 500
    """Weight vectors recorded over all chains."""
    warmup: int = 500
    chains: int = 4
    target_acceptance: float = 0.8
    prior_precision: float | None = None
    """Fixed value of λ; a problem's prior fixes it too. None: sampled, with a Gamma prior."""
    noise_precision: float | None = None
    """Fixed value of γ; a likelihood of known noise fixes it too."""

    def __post_init__(self) -> None:
        require_count(self, "draws", "warmup", "chains")
        require_between(self, 0.0, 1.0, "target_acceptance")
        fixed = [n for n in ("prior_precision", "noise_precision") if getattr(self, n) is not None]
        require_positive(self, *fixed)
        if self.draws % self.chains:
            raise ValueError(
                f"{type(self).__name__} needs draws to be a multiple of chains; got {self.draws} "
                f"and {self.chains}"
            )

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; raises `PackageMissing` without the library."""
        require_layers(problem, self, PERCEPTRONS)
        require_output_per_target(problem)
        known = problem.prior.precision if problem.prior else self.prior_precision
        of_weights = scales(problem.architecture, problem.input_shape)
        return fitted(self, problem, rng, {"scales": of_weights}, prior_precision=known)


@dataclass(frozen=True)
class BlackjaxNuts(Nuts):
    """The No-U-Turn sampler of blackjax, for the model of `Hmc`."""

    card: ClassVar[Card] = Card(
        "sampling", problems=("mlp regression", "mlp classification", "linear regression")
    )
    label: ClassVar[str] = "blackjax: NUTS"
    library: ClassVar[str] = "blackjax"
    script: ClassVar[str] = "bnnbench.methods.libraries.inside.blackjax_nuts"


@dataclass(frozen=True)
class NumpyroNuts(Nuts):
    """The No-U-Turn sampler of NumPyro, for the model of `Hmc`."""

    card: ClassVar[Card] = Card(
        "sampling", problems=("mlp regression", "mlp classification", "linear regression")
    )
    label: ClassVar[str] = "numpyro: NUTS"
    library: ClassVar[str] = "numpyro"
    script: ClassVar[str] = "bnnbench.methods.libraries.inside.numpyro_nuts"
