r"""Microcanonical Langevin ensembles (MILE): Langevin chains that start at trained networks.

$$ U(w) = -\sum_n \log p(y_n \mid x_n, w) - \log p(w) $$

is followed, with the gradient of all rows, by chains of microcanonical Langevin dynamics
(`dynamics.py`). Each starts at a network trained with early stopping on rows of its own, adapts its
step size and its length of decoherence, and keeps every `thinning`-th of its later states. A
prediction is the equal-weight mixture over the states of all chains.

Nothing is rejected, so that step sizes decide the bias. The default targets of the energy error are
the package's, and are not small: on a linear model, deviations are a tenth too narrow.
`energy_variance=(5e-4, 5e-4)` samples the posterior faithfully, with smaller steps.

The source's experiments on UCI data have 12 chains, 50,000 steps of warm-up and 10,000 later ones
thinned by 10. Differences from them and from the package sklearn-contrib-bde 1.0.2: lengths (the
package's `warmup_steps=50, n_samples=10` are for tests); a prior scaled by fan-in, theirs being
`prior_factor=None`; the package's sum of log likelihoods skips NaN, and so prefers weights whose
outputs are NaN; after a step that fails, the package's largest step is the one that failed, ours
0.8 of it.

Sources: Sommer, Robnik, Nozadze, Seljak and Rügamer (2025), "Microcanonical Langevin Ensembles";
Robnik and Seljak (2023), "Microcanonical Langevin Monte Carlo".
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, get_args

import torch

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.compiled.first_rows import fit_first_rows
from bnnbench.methods.fitting import progress
from bnnbench.methods.fitting.batched import Batched
from bnnbench.methods.fitting.settings import (
    require_between,
    require_choice,
    require_count,
    require_positive,
)
from bnnbench.methods.hmc.sampling import Backend
from bnnbench.methods.mile.fits import fit_together
from bnnbench.methods.mile.members import Training
from bnnbench.methods.tuning.space import Choice, Space


@dataclass(frozen=True)
class Mile(Batched):
    """Microcanonical Langevin chains from early-stopped networks.

    A regression of unknown noise learns a mean and a standard deviation for each input. `draws`
    weight vectors are recorded over all `chains`. Diagnostics look within chains, which are in
    different modes by design.
    """

    card: ClassVar[Card] = Card("sampling")
    prior_use: ClassVar[PriorUse] = "given"
    space: ClassVar[Space] = Space(
        {
            "prior_factor": Choice((1.0, 2.0, 4.0)),
            "energy_variance": Choice(((0.5, 0.1), (0.01, 0.005))),
        },
        length="warmup",
        lengths=(500, 2000),
    )

    draws: int = 800
    """Weight vectors recorded over all chains."""
    thinning: int = 5
    warmup: int = 2000
    chains: int = 8
    prior_factor: float | None = 2.0
    """Factor f of the prior's standard deviations f √(2 / fan_in) of weights; those of biases
    are 1. None: 1 for all, as in the paper. A problem's prior replaces it."""
    energy_variance: tuple[float, float] = (0.5, 0.1)
    """Target of the squared energy error of a step per weight, at the start and at the end of
    warm-up; smaller targets have smaller steps and less bias."""
    learning_rate: float = 5e-3
    """Learning rate of AdamW, for the networks at which chains start."""
    weight_decay: float = 1e-4
    batch_size: int = 32
    epochs: int = 400
    """Maximum number of epochs of these networks."""
    patience: int = 20
    """Epochs without a lower loss of held-out rows after which a network's training ends."""
    validation_share: float = 0.15
    """Share of training rows that each network holds out to be stopped by; chains see all rows."""
    backend: Backend = "compiled"
    """`compiled` needs numba, and is for perceptrons with (leaky) ReLU on a CPU.

    Other problems always use automatic differentiation. Both backends sample the same distribution
    with the same random numbers, and differ only in the rounding of sums."""

    def __post_init__(self) -> None:
        require_count(self, "draws", "thinning", "chains", "batch_size", "epochs", "patience")
        require_count(self, "warmup", least=0)
        require_positive(self, "learning_rate")
        require_between(self, 0.0, float("inf"), "weight_decay")
        require_between(self, 0.0, 1.0, "validation_share")
        require_choice(self, "backend", get_args(Backend))
        if self.prior_factor is not None:
            require_positive(self, "prior_factor")
        if len(self.energy_variance) != 2 or not all(v > 0 for v in self.energy_variance):
            raise ValueError(
                f"Mile needs energy_variance to be two positive numbers; got {self.energy_variance}"
            )
        if self.draws % self.chains:
            raise ValueError(
                f"Mile needs draws to be a multiple of chains; got {self.draws} and {self.chains}"
            )

    @property
    def training(self) -> Training:
        """The training of the networks at which chains start."""
        return Training(
            self.learning_rate,
            self.weight_decay,
            self.batch_size,
            self.epochs,
            self.patience,
            self.validation_share,
        )

    @property
    def steps(self) -> int:
        """Steps of each chain, including its warm-up."""
        return self.warmup + self.draws // self.chains * self.thinning

    def warm_up(self, problem: Problem) -> None:
        """Compile the gradient."""
        if self.backend == "compiled":
            shortest = {"draws": self.chains, "thinning": 1, "warmup": 0, "epochs": 1}
            fit_first_rows(replace(self, **shortest), problem)

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem, or its failure; all chains run side by side."""
        return self.fit_variants([self] * len(problems), problems, rngs)

    @classmethod
    def fit_variants(
        cls,
        variants: "Sequence[Mile]",
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
    ) -> list[Posterior | InferenceDiverged]:
        """Return `variants[m].fit(problems[m], rngs[m])`.

        Variants that differ only in `prior_factor` and `energy_variance` run side by side, and
        those of one problem and stream start at the same networks.
        """
        groups: dict[Mile, list[int]] = {}
        for number, variant in enumerate(variants):
            common = replace(variant, prior_factor=1.0, energy_variance=(1.0, 1.0))
            groups.setdefault(common, []).append(number)
        fitted: dict[int, Posterior | InferenceDiverged] = {}
        starts = {id(rng): rng.get_state() for rng in rngs}
        for number, members in enumerate(groups.values()):
            for rng in rngs:
                rng.set_state(starts[id(rng)])
            with progress.part(number, len(groups)):
                results = fit_together(
                    [variants[m] for m in members],
                    [problems[m] for m in members],
                    [rngs[m] for m in members],
                )
            fitted |= zip(members, results, strict=True)
        return [fitted[m] for m in range(len(variants))]
