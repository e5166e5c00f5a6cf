"""A trained network as it is: a point estimate that no fit changes.

It stands wherever a method takes a point estimate, such as `Laplace(training=Given())`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting import optimisers, progress
from bnnbench.methods.fitting.batched import Batched
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.starts import noise_of_start, require_weights_of, start_of_problem
from bnnbench.methods.fitting.targets import require_output_per_target
from bnnbench.methods.fitting.training import Schedule
from bnnbench.methods.networks.heteroscedastic import states_variance
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.tuning.space import Space


@dataclass(frozen=True)
class Given(Batched):
    """The weights of the problem's trained network, unchanged.

    A regression's noise variance is the one that comes with the weights, otherwise the mean squared
    residual of the calibration rows or, without them, of the training rows.
    """

    card: ClassVar[Card] = Card("point estimates", trained=True)
    prior_use: ClassVar[PriorUse] = "none"
    space: ClassVar[Space] = Space()

    @property
    def epochs(self) -> int:
        """No epochs, for methods around a descent."""
        return 0

    @property
    def batch_size(self) -> int:
        """Rows of a batch, of which there is none."""
        return 128

    @property
    def schedule(self) -> Schedule:
        """The schedule of no epochs."""
        return "constant"

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return each problem's trained network; raises `Unsupported` without one."""
        return [_point(problem) for problem in problems]

    @classmethod
    def optimiser(cls, variants: "Sequence[Given]", weights: Tensor) -> optimisers.Adam:
        """Return an optimiser for a descent of no epochs."""
        return optimisers.Adam([weights], [0.0] * len(variants))


def _point(problem: Problem) -> NetworkPosterior:
    require_output_per_target(problem, continues=True)
    network = TorchNetwork(problem.architecture, problem.input_shape)
    start = start_of_problem(problem)
    require_weights_of(start, network)
    noise = None
    if not isinstance(problem.likelihood, Categorical) and not states_variance(
        problem.architecture
    ):
        noise = noise_of_start(problem, start)
    progress.report(1, 1, float("nan"))
    return NetworkPosterior(
        network,
        problem.likelihood,
        start.weights.to(problem.train.inputs)[None],
        start.buffers.to(problem.train.inputs)[None],
        noise,
        {} if noise is None else {"noise_std": noise**0.5},
    )
