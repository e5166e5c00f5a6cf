r"""The objective of function-space variational inference with a Dirichlet prior.

$$ -\tfrac1B \sum_n \tfrac1M \sum_m \log f^{(m)}_{y_n}(x_n)
   + \tfrac{\lambda}{B} \operatorname{mean}_s KL[Dir(\alpha(s)) \| Dir(\beta)] $$

over a batch of B examples and an index set of points s. Source: paper 003, eqs. 3 to 6 and
appendix B.1; only with the second 1/B are its printed numbers reproduced.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor
from torch.nn import functional

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.fitting import work
from bnnbench.methods.function_space.index_sets import IndexSet, TrainingData
from bnnbench.methods.predictions.dirichlet import kl_estimate, mean_of

LogProbs = Float64[Tensor, "draws problems points classes"]


def expected_loss(
    log_probs: LogProbs, targets: Int[Tensor, "problems points"]
) -> Float64[Tensor, " problems"]:
    """Return the negative log likelihood, averaged over draws and points, in nats."""
    repeated_targets = targets.expand(len(log_probs), -1, -1)
    losses = functional.nll_loss(
        log_probs.flatten(0, 2), repeated_targets.flatten(), reduction="none"
    )
    return mean_of(losses.view(repeated_targets.shape)).mean(1)


@dataclass(frozen=True)
class DirichletPrior:
    """The concentrations of a Dirichlet prior on the probabilities at every point."""

    beta: Float64[Tensor, " classes"]
    highest: float
    """The maximum precision of a posterior: the number of training rows."""

    @staticmethod
    def of(problem: Problem, beta: Sequence[float] | None) -> "DirichletPrior":
        """Return the prior, uniform by default; raises `Unsupported` for a regression."""
        if not isinstance(problem.likelihood, Categorical):
            raise Unsupported("needed a classifier for a Dirichlet prior; got a regression")
        classes = problem.likelihood.classes
        concentrations = (1.0,) * classes if beta is None else beta
        if len(concentrations) != classes:
            raise Unsupported(
                f"needed a prior with {classes} concentrations; got {len(concentrations)}"
            )
        device = problem.train.inputs.device
        tensor = torch.tensor(concentrations, dtype=torch.float64, device=device)
        return DirichletPrior(tensor, float(max(len(problem.train), classes)))

    def divergence(self, log_probs: LogProbs) -> Float64[Tensor, " problems"]:
        """Return the estimated divergence from the prior, averaged over points, in nats."""
        return kl_estimate(log_probs, self.beta, self.highest).mean(1)


class IndexPoints:
    """The points of several index sets for one stack of problems."""

    def __init__(self, index: Sequence[IndexSet], problems: Sequence[Problem]) -> None:
        self._with_batch = any(isinstance(index_set, TrainingData) for index_set in index)
        self._others = [
            index_set.points(problems)
            for index_set in index
            if not isinstance(index_set, TrainingData)
        ]

    def log_probs(
        self,
        of_batch: Float64[Tensor, "draws problems batch classes"],
        inputs: Float[Tensor, "problems batch_rows *features"],
        rngs: Sequence[torch.Generator],
        predict: Callable[[Tensor], LogProbs],
    ) -> LogProbs:
        """Return the log probabilities at all points; the batch's are given."""
        log_probs = [of_batch] if self._with_batch else []
        if self._others:
            others = torch.cat([points(inputs, rngs) for points in self._others], 1)
            work.count("gradient_rows", len(of_batch) * others.shape[0] * others.shape[1])
            log_probs.append(predict(others))
        return log_probs[0] if len(log_probs) == 1 else torch.cat(log_probs, 2)
