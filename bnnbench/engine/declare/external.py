"""A method of another program, of which only predictions are at hand."""

from dataclasses import dataclass
from typing import NoReturn

import torch

from bnnbench.methods.base import Problem, Unsupported


@dataclass(frozen=True)
class ScoredElsewhere:
    """A method by the name that its predictions were handed in under."""

    name: str

    def fit(self, problem: Problem, rng: torch.Generator) -> NoReturn:
        """Raise `Unsupported`: the method is not here."""
        raise Unsupported(
            f"{self.name} is a method of another program: hand in its predictions by "
            "`bnnbench score`"
        )
