r"""The affine subspace of weights in which the iterates of SGD vary most.

$w = m + P^T z$, where m is the average of the iterates and the rows of P are the principal
directions of the last K deviations, times the standard deviations of the iterates along them.

Source: Izmailov et al. (2019), "Subspace Inference for Bayesian Deep Learning", section 4.2.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Split
from bnnbench.methods.base import InferenceDiverged, Posterior, Problem
from bnnbench.methods.fitting.minibatches import batch_sizes
from bnnbench.methods.fitting.network_posterior import POINTS_AT_ONCE, NetworkPosterior
from bnnbench.methods.networks.architectures import TorchModule
from bnnbench.methods.trajectory.averages import averaged, posterior_of
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.likelihood import row_losses


@dataclass(frozen=True)
class Subspace:
    """An origin, at coordinates z = 0, and directions, the unit vectors of z."""

    origin: Float[Tensor, " parameters"]
    directions: Float[Tensor, "coordinates parameters"]

    def weights(self, z: Float[Tensor, "draws coordinates"]) -> Float[Tensor, "draws parameters"]:
        """Return the weights at these coordinates."""
        return torch.addmm(self.origin, z, self.directions)


def principal_directions(
    deviations: Float[Tensor, "columns parameters"], rank: int
) -> Float[Tensor, "coordinates parameters"]:
    """Return the first right singular vectors of D / √(K - 1), times their singular values.

    There are at most `rank`, and none of length 0, so that no coordinate is without effect. For a
    matrix with many more columns than rows they are found from its Gram matrix.
    """
    wide = deviations.double() / math.sqrt(max(len(deviations) - 1, 1))
    squares, left = torch.linalg.eigh(wide @ wide.T)
    order = squares.argsort(descending=True)[:rank]
    order = order[squares[order] > squares.max() * 1e-12]
    return (left[:, order].T @ wide).to(deviations.dtype)


@dataclass(frozen=True)
class Task:
    """Inference in one problem's subspace."""

    subspace: Subspace
    average: NetworkPosterior
    """Point posterior at the average of the iterates; its network, likelihood and noise are used.
    """
    problem: Problem
    rng: torch.Generator


Inference = Callable[[Task], tuple[Float[Tensor, "draws coordinates"], dict[str, float]]]
"""Return draws of the coordinates and diagnostics; may raise `InferenceDiverged`."""


def fit_in_subspaces(
    problems: Sequence[Problem],
    rngs: Sequence[torch.Generator],
    descent: Descent,
    deviations: int,
    rank: int,
    infer: Inference,
) -> list[Posterior | InferenceDiverged]:
    """Return the posterior that `infer` finds for each problem in the subspace of its descent."""
    stack, moments = averaged(problems, rngs, descent, deviations)

    def member(m: int, problem: Problem) -> Posterior | InferenceDiverged:
        columns, origin = moments.deviations(m), moments.mean[m].clone()
        if not (columns.isfinite().all() and origin.isfinite().all()):
            return InferenceDiverged("the iterates are no longer finite")
        subspace = Subspace(origin, principal_directions(columns, rank))
        try:
            z, details = infer(Task(subspace, stack.posterior(m), problem, stack.rngs[m]))
        except InferenceDiverged as failure:
            return failure
        details["iterates"] = float(moments.count)
        details["coordinates"] = float(z.shape[1])
        return posterior_of(stack, problem, m, subspace.weights(z), details)

    posteriors = [member(m, problem) for m, problem in enumerate(problems)]
    return stack.outcomes(posteriors)


def losses(
    posterior: NetworkPosterior, weights: Float[Tensor, "draws parameters"], rows: Split
) -> Float[Tensor, "draws points"]:
    """Return the negative log likelihood of each row under other weights, with gradient.

    Networks with batch norm use the statistics of these rows.
    """
    running = any(
        part.name.startswith("running") or not isinstance(part.layer, TorchModule)
        for part in posterior.network.buffers
    )
    outputs = posterior.network(
        weights,
        rows.inputs[None],
        buffers=posterior.buffers.expand(len(weights), -1).clone(),
        training=running,
        noise="off",
    )
    noise = posterior.noise_variance
    variance = None if noise is None else weights.new_full((1,), noise)
    return row_losses(posterior.likelihood, outputs, rows.targets[None], variance)


@torch.no_grad()
def total_loss(
    posterior: NetworkPosterior, weights: Float[Tensor, " parameters"], rows: Split
) -> float:
    """Return the summed negative log likelihood of all rows, in nats, a few hundred at a time.

    A lone last row, of which a batch norm has no variance, joins the rows before it.
    """
    sizes = batch_sizes(len(rows), POINTS_AT_ONCE, least=min(2, len(rows)))
    ends = pairwise(accumulate(sizes, initial=0))
    parts = [losses(posterior, weights[None], rows.rows(slice(*pair))) for pair in ends]
    return float(torch.cat(parts, 1).double().sum())


def temperature_of(given: float | None, rows: int) -> float:
    """Return the temperature: if not given, a twentieth of the rows, as in the source's code."""
    return rows / 20 if given is None else given
