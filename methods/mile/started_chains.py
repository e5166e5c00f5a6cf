"""Hamiltonian chains of whitened weights that start at given networks."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import Problem
from bnnbench.methods.hmc.chains import Chains
from bnnbench.methods.hmc.precisions import GammaPrior
from bnnbench.methods.mile.whitened import WhitenedNetwork

FIXED = GammaPrior(1.0, 1.0, fixed=1.0)
"""The precision of whitened weights, and the factor of the log likelihood."""


class StartedChains(Chains):
    """Chains that start at given states."""

    def __init__(
        self,
        states: Float[Tensor, "members size"],
        network: WhitenedNetwork,
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
        chains: int,
        iterations: int,
    ) -> None:
        super().__init__(network, problems, rngs, chains, iterations, FIXED, FIXED)
        self.states = states
        for part, loss in self._blocks:
            loss.states.copy_(states[part])
            loss.differentiate()
        self.gradients = torch.cat([loss.gradients for _, loss in self._blocks])
        self.losses = torch.cat([loss.value() for _, loss in self._blocks])
        self.outputs = self._outputs()
