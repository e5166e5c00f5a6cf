"""Parts of a descent with several optimisers: they move together, along gradients of a norm."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.checkpoints.parts import Part
from bnnbench.methods.fitting.optimisers import Moves


@dataclass(frozen=True)
class Together:
    """Several optimisers of the same members, such as one with weight decay and one without."""

    optimisers: Sequence[Moves]

    @property
    def changing(self) -> list[Part]:
        """The parts that a step changes, for checkpoints."""
        return [part for one in self.optimisers for part in one.changing]

    def begin_epoch(self, factors: Sequence[float]) -> None:
        """Set the first members' learning rates to their peaks times these factors."""
        for one in self.optimisers:
            one.begin_epoch(factors)


def clipped(
    gradients: Sequence[Float[Tensor, "members _numbers"]], largest: float
) -> list[Float[Tensor, "members _numbers"]]:
    """Return each member's gradients, scaled down to this joint Euclidean norm if it is larger."""
    squares = torch.stack([gradient.square().sum(1) for gradient in gradients])
    factors = (largest / squares.sum(0).sqrt()).clamp_max(1.0).unsqueeze(1)
    return [gradient * factors for gradient in gradients]
