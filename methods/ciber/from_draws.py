"""CIBER on draws of Hamiltonian Monte Carlo instead of a trajectory's iterates.

Source: paper 002, figure 2 and appendix C.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, get_args

import torch

from bnnbench.datasets.base import Gaussian
from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.ciber.boxes import Bounds
from bnnbench.methods.ciber.classes import ClassWeights
from bnnbench.methods.ciber.collapse import Collapse, LastLayer, SecondLayer
from bnnbench.methods.ciber.method import EQUAL_VARIANCE
from bnnbench.methods.ciber.posterior import CollapsedPosterior
from bnnbench.methods.ciber.samples import Samples, require_layers
from bnnbench.methods.fitting.settings import require_choice, require_positive
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.hmc.posterior import HmcPosterior
from bnnbench.methods.integration import sums
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.tuning.space import Space


@dataclass(frozen=True)
class CiberOfHmc:
    """Collapsed inference on a sampler's draws, the same as the sampler's from an equal stream.

    Each draw keeps its own noise. Densities have a bounded support and no floor.
    """

    card: ClassVar[Card] = Card(
        "trajectories", problems=("mlp regression", "linear regression", "cnn regression")
    )
    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space()

    sampler: Hmc = field(default_factory=Hmc)
    """The sampler and its settings."""
    collapse: Collapse = LastLayer()
    bounds: Bounds = "moment"
    ratio: float = EQUAL_VARIANCE
    """Half the base of the triangular noise, in standard deviations of the Gaussian."""

    def __post_init__(self) -> None:
        require_choice(self, "bounds", get_args(Bounds))
        require_positive(self, "ratio")
        if self.sampler.draws < 2:
            raise ValueError(
                f"CiberOfHmc needs at least 2 draws to span a box; got {self.sampler.draws}"
            )

    def warm_up(self, problem: Problem) -> None:
        """Compile the integrals over boxes."""
        sums.warm_up(problem.train.inputs.device)

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; raises `InferenceDiverged` when every trajectory diverges."""
        (posterior,) = self.fit_many([problem], [rng])
        if isinstance(posterior, InferenceDiverged):
            raise posterior
        return posterior

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        for problem in problems:
            if not isinstance(problem.likelihood, Gaussian):
                raise Unsupported(f"needed a regression; got {problem.likelihood}: use Ciber")
            require_layers(problem, isinstance(self.collapse, SecondLayer))
        posteriors = self.sampler.fit_many(problems, rngs)
        return [
            self._collapsed(posterior, problem)
            if isinstance(posterior, HmcPosterior)
            else posterior
            for posterior, problem in zip(posteriors, problems, strict=True)
        ]

    def _collapsed(self, posterior: HmcPosterior, problem: Problem) -> CollapsedPosterior:
        network = TorchNetwork(problem.architecture, problem.input_shape)
        weights = posterior.network.weights(posterior.states)
        noise = posterior.noise_precision.reciprocal()
        buffers = network.initial_buffers(weights)
        samples = Samples(network, problem.likelihood, weights, buffers, noise, self.bounds)
        details = {**posterior.diagnostics, "mean_box_width": float(samples.box.width.mean())}
        return CollapsedPosterior(
            samples, self.collapse, ClassWeights(), self.ratio, diagnostics=details
        )
