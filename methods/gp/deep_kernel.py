"""Deep kernel learning (DKL): a Gaussian process on the features of a network.

Kernel and network are learned together by the ELBO; the network is the problem's, without its last
layer. Source: Wilson et al. (2016), "Deep Kernel Learning", here with the inducing points of
Hensman, Matthews and Ghahramani (2015). They are located in input space.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import torch

from bnnbench.methods.base import Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.settings import require_count
from bnnbench.methods.gp.package import lacking
from bnnbench.methods.gp.training import GpPosterior, GpTraining, random_rows, require_single_target
from bnnbench.methods.networks.architectures import Linear
from bnnbench.methods.networks.shapes import running_slices
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.tuning.space import Choice, Space, compose


@dataclass(frozen=True)
class DeepKernel:
    """DKL with `inducing` points, or all training rows if fewer."""

    card: ClassVar[Card] = Card("variational", problems=("mlp regression",))
    prior_use: ClassVar[PriorUse] = "own"

    inducing: int = 128
    training: GpTraining = field(default_factory=GpTraining)

    lacks = property(lacking)

    def __post_init__(self) -> None:
        require_count(self, "inducing")

    @property
    def space(self) -> Space:
        """The search space; the wrapped training's settings come first."""
        return compose("training", self.training.space, Space({"inducing": Choice((64, 128, 256))}))

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; raises `PackageMissing` without gpytorch."""
        from bnnbench.methods.gp import models

        noise_std = require_single_target(problem, self)
        *body, last = problem.architecture
        if not body or not isinstance(last, Linear):
            raise Unsupported(
                "DeepKernel needed hidden layers before a linear one; got "
                f"{len(problem.architecture)} layers ending in {last}"
            )
        if statistics := running_slices(tuple(body), problem.input_shape):
            raise Unsupported(
                f"DeepKernel needed layers without running statistics; got {statistics[0].layer}: "
                "use AnalyticNorm or FeatureResponseNorm"
            )
        network = TorchNetwork(tuple(body), problem.input_shape)
        weights = network.initial_weights([rng], dtype=torch.float64)
        if problem.start is not None:
            weights.copy_(problem.start.weights[: network.parameter_count])
        places = random_rows(problem, self.inducing, rng)
        gp = models.SparseGp(places, embedding=models.NetworkModule(network, weights))
        model = models.GpRegression(gp, noise_std)
        self.training(model, problem, rng, samples=1)
        return GpPosterior(model, draws=1)
