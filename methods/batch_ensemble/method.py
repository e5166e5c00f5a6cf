r"""BatchEnsemble: an ensemble of networks that share one matrix per layer.

Member k has the weights $W \circ s_k r_k^T$ and its own biases; its vectors $r_k$ and $s_k$ start
as random signs. All members are trained together, by the mean of their losses.

Source: Wen, Tran and Ba (2020), "BatchEnsemble: An Alternative Approach to Efficient Ensemble and
Lifelong Learning".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.batch_ensemble.training import SharedMembers
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.batched import Variants
from bnnbench.methods.fitting.settings import require_between, require_count
from bnnbench.methods.fitting.targets import require_output_per_target
from bnnbench.methods.fitting.training import Schedule, check_descent
from bnnbench.methods.tuning.space import Log, Space


@dataclass(frozen=True)
class BatchEnsemble(Variants):
    """An equal-weight mixture of members with shared matrices.

    Every member sees every row of a batch; the paper divides a batch among its members. Scales have
    no weight decay, which would pull them to 0 and not to 1. For a regression of unknown noise a
    member outputs a mean and a variance: a softplus of its output plus one of a number, which
    starts at 1e-6 (`bnnbench.methods.networks.heteroscedastic`).
    """

    card: ClassVar[Card] = Card("ensembles")
    prior_use: ClassVar[PriorUse] = "none"
    space: ClassVar[Space] = Space(
        {"learning_rate": Log(3e-4, 1e-1), "weight_decay": Log(1e-4, 3.0)}, length="epochs"
    )
    per_member: ClassVar = ("learning_rate", "weight_decay", "epochs")
    random_signs: ClassVar[str] = "all"
    """Scales that start as random signs: all, or only those of the first layer's inputs."""
    separate_last: ClassVar[bool] = False
    """True if each member has its own last layer."""

    size: int = 4
    learning_rate: float = 3e-3
    weight_decay: float = 1e-4
    """Weight decay, except of the scales."""
    epochs: int = 100
    batch_size: int = 32
    schedule: Schedule = "cosine"
    heteroscedastic: bool = True

    def __post_init__(self) -> None:
        check_descent(self)
        require_count(self, "size")
        require_between(self, 0.0, math.inf, "weight_decay")

    @classmethod
    def fit_side_by_side(
        cls,
        variants: "Sequence[BatchEnsemble]",
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
    ) -> list[Posterior | InferenceDiverged]:
        """Return the mixture of each problem's members."""
        require_output_per_target(problems[0])
        training = SharedMembers(variants, problems, rngs)
        training.run([variant.epochs for variant in variants], variants[0].schedule)
        return training.posteriors()
