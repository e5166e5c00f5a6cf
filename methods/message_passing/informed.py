"""Priors whose means are the weights of a short gradient-based fit.

With random prior means the messages of the first visits hardly distinguish units. Means found by
gradients put the fit near one mode. If they come from the same rows as the messages, those rows
count twice: the result is empirical Bayes, not a posterior, and its variances are too small by an
unknown amount.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import BatchedMethod, InferenceDiverged, Problem, Unsupported
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.randomness import spawn
from bnnbench.methods.fitting.settings import require_choice, require_positive
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.priors import SpectralPrior
from bnnbench.methods.tuning.fits import fit_all

if TYPE_CHECKING:
    from bnnbench.methods.message_passing.layers.weighted import WeightedLayer, Weights

Rows = Literal["shared", "half"]
MEANS = AdamW(learning_rate=1e-2, weight_decay=1e-1, epochs=6, batch_size=64)


@dataclass(frozen=True)
class InformedPrior:
    """Prior means from a point estimate's weights; variances from a spectral prior."""

    training: BatchedMethod = MEANS
    scale: float = 1.0
    """A factor for all variances. The better the point estimate fits, the larger it should be."""
    rows: Rows = "shared"
    """shared: both fits use all rows. half: the point estimate uses one half, message passing the
    other."""
    base: SpectralPrior = field(default_factory=SpectralPrior)
    """The source of the variances; its means are not used."""

    def __post_init__(self) -> None:
        require_positive(self, "scale")
        require_choice(self, "rows", get_args(Rows))

    def parts(self, problem: Problem, rng: Generator) -> tuple[Problem, Problem]:
        """Return the problems for the point estimate and for message passing."""
        return (problem, problem) if self.rows == "shared" else halves(problem, rng)

    def means(
        self, problems: Sequence[Problem], rngs: Sequence[Generator]
    ) -> "list[KnownMeans | InferenceDiverged]":
        """Return the prior of each problem, drawn with a child of its random stream."""
        streams = [spawn(rng, 1)[0] for rng in rngs]
        fitted = fit_all([self.training] * len(problems), problems, streams).results
        return [
            InferenceDiverged(f"prior means: {fit}")
            if isinstance(fit, InferenceDiverged)
            else KnownMeans((_weights(fit),), self)
            for fit in fitted
        ]


@dataclass(frozen=True)
class KnownMeans:
    """The prior of some members with given means."""

    vectors: tuple[Float[Tensor, " parameters"], ...]
    """One vector per member: layers in order, weights before biases."""
    prior: InformedPrior

    def draw(
        self, layers: "Sequence[WeightedLayer]", rngs: Sequence[Generator], inputs: Tensor
    ) -> "list[Weights]":
        """Return the prior of every layer; it involves no random numbers."""
        drawn = replace(self.prior.base, means="normal").draw(layers, _spare(rngs), inputs)
        vectors = torch.stack(self.vectors).to(inputs)
        layers_of_weights, start = [], 0
        for weights in drawn:
            parts = []
            for part in weights.parts():
                stop = start + part.rho[0].numel()
                mean = vectors[:, start:stop].view(part.shape)
                parts.append(Gaussian.of(mean, self.prior.scale * part.variance))
                start = stop
            layers_of_weights.append(type(weights)(*parts, *[None] * (2 - len(parts))))
        if start != vectors.shape[1]:
            raise Unsupported(
                f"InformedPrior needed parameters only in dense and convolutional layers, {start} "
                f"in all; got a network with {vectors.shape[1]}"
            )
        return layers_of_weights


def joined(priors: Sequence[KnownMeans]) -> KnownMeans:
    """Return the prior of all members together."""
    return KnownMeans(tuple(v for prior in priors for v in prior.vectors), priors[0].prior)


def halves(problem: Problem, rng: Generator) -> tuple[Problem, Problem]:
    """Return two problems with disjoint halves of the rows; the second may have one row more.

    Raises `Unsupported` for a single row.
    """
    train = problem.train
    if len(train) < 2:
        raise Unsupported(f"needed at least 2 training rows, for two halves; got {len(train)}")
    (child,) = spawn(rng, 1)
    order = torch.randperm(len(train), generator=child, device=child.device)
    order = order.to(train.inputs.device)
    cut = len(train) // 2
    return tuple(  # pyright: ignore[reportReturnType]
        replace(problem, train=train.rows(rows)) for rows in (order[:cut], order[cut:])
    )


def _weights(posterior: object) -> Float[Tensor, " parameters"]:
    assert isinstance(posterior, NetworkPosterior)
    return posterior.weights[0]


def _spare(rngs: Sequence[Generator]) -> list[Generator]:
    """Return throwaway streams, so that the members' own streams do not advance."""
    return [torch.Generator(rng.device).manual_seed(0) for rng in rngs]
