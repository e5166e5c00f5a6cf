"""A suite whose fits take a while and keep checkpoints: `python -m tests.suites.walking`."""

import time
from dataclasses import dataclass

import torch

from bnnbench.commands.suite import main
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.base import Problem
from bnnbench.methods.checkpoints import checkpoint
from bnnbench.methods.fitting.progress import report
from tests.suites.fakes import Constant, Line


@dataclass(frozen=True)
class Walk:
    """Predicts the end of a random walk."""

    epochs: int = 40
    seconds: float = 1.2

    def fit(self, problem: Problem, rng: torch.Generator) -> Constant:
        position = torch.zeros(1)
        for epoch in checkpoint.epochs(self.epochs, position, rng):
            time.sleep(self.seconds / self.epochs)
            position += 0.1 * torch.randn(1, generator=rng)
            report(epoch + 1, self.epochs, 0.0)
        return Constant(position, categorical=False)


SUITES = {
    "quick": Suite(
        name="walking",
        title="Walks",
        profile="quick",
        cases=(Case(Line(), ()),),
        methods={"Walk": Walk()},
        evaluations=(Evaluation(Clean(), ("rmse",)),),
    )
}

if __name__ == "__main__":
    main(SUITES)
