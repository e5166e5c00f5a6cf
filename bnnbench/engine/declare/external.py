"""A method of another program, of which only predictions are available."""

from dataclasses import dataclass
from typing import NoReturn

import torch

from bnnbench.methods.base import Problem, Unsupported


@dataclass(frozen=True)
class ScoredElsewhere:
    """A method, by the name given with its predictions."""

    name: str

    def fit(self, problem: Problem, rng: torch.Generator) -> NoReturn:
        """Raise `Unsupported`: the method is not available."""
        raise Unsupported(
            f"{self.name} is a method of another program: score its predictions with "
            "`bnnbench score`"
        )
