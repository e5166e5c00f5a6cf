r"""Gaussian noise rotated by Householder reflections, and its divergence from the best prior.

The factors $\xi = U z$ of a layer's K inputs have $z \sim N(1, \mathrm{diag}(\alpha))$ and an
orthogonal $U = H_1 \cdots H_T$ with $H_t = I - 2 v_t v_t^T / |v_t|^2$, hence means $m = U 1$
and variances $s_i^2 = \sum_k U_{ik}^2 \alpha_k$. Among the priors N(0, diag(1/β)), the one of
minimal divergence has $\beta_i = 1 / (m_i^2 + s_i^2)$, and with it

$$ KL(q \| p) = \tfrac12 \sum_i \log(m_i^2 + s_i^2) - \tfrac12 \sum_k \log \alpha_k, $$

since $U \mathrm{diag}(\alpha) U^T$ and $\mathrm{diag}(\alpha)$ have equal determinants. A weight
$w_i = \theta_i \xi_i$ with its own prior has the same divergence, whatever θ.

Source: Nguyen et al. (2021), "Structured Dropout Variational Inference for Bayesian Neural
Networks"; the divergence is derived here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.fitting.randomness import normal


@dataclass(frozen=True)
class RotatedNoise:
    """The factors of one layer's inputs."""

    log_alpha: Float[Tensor, "members inputs"]
    """Log variances before the rotation."""
    vectors: tuple[Float[Tensor, "members inputs"], ...]
    """Normals of the reflecting planes; if empty, there is no rotation."""

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return self.log_alpha.shape[1]

    def factors(
        self, standard: Float[Tensor, "members *rows inputs"]
    ) -> Float[Tensor, "members *rows inputs"]:
        """Return the factors for these standard normals."""
        std = (self.log_alpha / 2).exp()
        return self.rotated(1 + _beside(std, standard) * standard)

    def rotated(
        self, rows: Float[Tensor, "members *rows inputs"]
    ) -> Float[Tensor, "members *rows inputs"]:
        """Return U applied to every row."""
        return reduce(_reflected, reversed(self.vectors), rows)

    def rotated_back(
        self, rows: Float[Tensor, "members *rows inputs"]
    ) -> Float[Tensor, "members *rows inputs"]:
        """Return the transpose of U applied to every row."""
        return reduce(_reflected, self.vectors, rows)

    def mean(self) -> Float[Tensor, "members inputs"]:
        """Return the means m of the factors."""
        return self.rotated(torch.ones_like(self.log_alpha))

    def variance(self) -> Float[Tensor, "members inputs"]:
        """Return the variances s² of the factors."""
        identity = torch.eye(self.inputs).to(self.log_alpha)
        rows = self.rotated_back(identity.expand(len(self.log_alpha), -1, -1))
        return (rows.square() * self.log_alpha.exp().unsqueeze(1)).sum(-1)

    def kl(self) -> Float[Tensor, " members"]:
        """Return the divergence from the best prior, in nats."""
        second_moments = self.mean().square() + self.variance()
        return 0.5 * (second_moments.log().sum(1) - self.log_alpha.sum(1))


def initial_numbers(
    widths: Sequence[int],
    reflections: int,
    log_alpha: float,
    rngs: Sequence[torch.Generator],
    dtype: torch.dtype,
) -> Float[Tensor, "members numbers"]:
    """Return initial noise parameters for layers of these widths: one variance, random planes."""
    parts = []
    for width in widths:
        planes = normal(rngs, reflections * width, dtype=dtype)
        parts += [planes.new_full((len(rngs), width), log_alpha), planes]
    return torch.cat(parts, 1)


def noises_of(
    numbers: Float[Tensor, "members numbers"], widths: Sequence[int], reflections: int
) -> tuple[RotatedNoise, ...]:
    """Return the noise of each layer."""
    parts = numbers.split([width for width in widths for _ in range(1 + reflections)], 1)
    every = 1 + reflections
    layers = [parts[start : start + every] for start in range(0, len(parts), every)]
    return tuple(RotatedNoise(log_alpha, tuple(vectors)) for log_alpha, *vectors in layers)


def _reflected(rows: Tensor, vector: Tensor) -> Tensor:
    squared = vector.square().sum(-1, keepdim=True)
    normals, scaled = _beside(vector, rows), _beside(2 * vector / squared, rows)
    return rows - (rows * normals).sum(-1, keepdim=True) * scaled


def _beside(vector: Tensor, rows: Tensor) -> Tensor:
    """Return one vector per member, in a shape that broadcasts over the member's rows."""
    return vector.view(len(vector), *(1,) * (rows.dim() - 2), vector.shape[1])
