"""The end of a descent, and the posteriors of the methods that use its iterates."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Problem
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.fitting.training import Stack
from bnnbench.methods.trajectory.last_iterate import LastIterate
from bnnbench.methods.trajectory.moments import Moments
from bnnbench.methods.trajectory.pca_slices import PcaSlices
from bnnbench.methods.trajectory.pca_vi import PcaVi
from bnnbench.methods.trajectory.running_statistics import recomputed
from bnnbench.methods.trajectory.subspace import Subspace, Task, principal_directions
from bnnbench.methods.trajectory.swag import Swag, gaussian_draws

Use = LastIterate | Swag | PcaSlices | PcaVi
"""The methods that use the iterates of a descent after its end."""
Drawn = tuple[Float[Tensor, "draws parameters"], dict[str, float]]


@dataclass(frozen=True)
class Ended:
    """One problem's descent after its last step."""

    last: NetworkPosterior
    """The point posterior at the last iterate."""
    mean: Float[Tensor, " parameters"]
    variance: Float[Tensor, " parameters"]
    """Variance of the recorded iterates, per weight."""
    deviations: Float[Tensor, "columns parameters"]
    """Deviations of the last iterates from the running mean, oldest first."""
    count: int
    """Number of recorded iterates."""
    problem: Problem
    stream: Tensor
    """State of the problem's stream."""
    batch_size: int

    def rng(self) -> torch.Generator:
        """Return the stream in its state after the last step."""
        rng = torch.Generator(self.mean.device)
        rng.set_state(self.stream)
        return rng


def ended_of(stack: Stack, moments: Moments, problem: Problem, member: int) -> Ended:
    """Return the end of one member's descent."""
    return Ended(
        stack.posterior(member),
        moments.mean[member].clone(),
        moments.variance[member].clone(),
        moments.deviations(member),
        moments.count,
        problem,
        stack.rngs[member].get_state(),
        stack.batches.batch_size,
    )


def used(ended: Ended, use: Use) -> NetworkPosterior:
    """Return a method's posterior, from the stream that the method has after such a descent.

    Raises `InferenceDiverged` if it fails.
    """
    if isinstance(use, LastIterate):
        return ended.last
    rng = ended.rng()
    weights, details = _swag(ended, use, rng) if isinstance(use, Swag) else _pca(ended, use, rng)
    last, inputs = ended.last, ended.problem.train.inputs
    buffers = recomputed(last.network, weights, inputs, last.buffers, ended.batch_size)
    details = last.diagnostics | {"iterates": float(ended.count)} | details
    return replace(last, weights=weights, buffers=buffers, diagnostics=details)


def _swag(ended: Ended, use: Swag, rng: torch.Generator) -> Drawn:
    columns = ended.deviations[-use.rank :] if use.rank else ended.deviations[:0]
    std = ended.variance.sqrt()
    weights = gaussian_draws(ended.mean, std, columns, use.scale, use.draws, rng)
    return weights, {"mean_weight_std": float(std.mean())}


def _pca(ended: Ended, use: PcaSlices | PcaVi, rng: torch.Generator) -> Drawn:
    columns = ended.deviations[-use.deviations :]
    if not (columns.isfinite().all() and ended.mean.isfinite().all()):
        raise InferenceDiverged("the iterates are no longer finite")
    subspace = Subspace(ended.mean, principal_directions(columns, use.rank))
    task = Task(subspace, replace(ended.last, weights=ended.mean[None]), ended.problem, rng)
    z, details = use.states(task) if isinstance(use, PcaSlices) else _variational(use, task)
    return subspace.weights(z), details | {"coordinates": float(z.shape[1])}


def _variational(use: PcaVi, task: Task) -> tuple[Tensor, dict[str, float]]:
    mean, std = use.variational(task)
    if not (mean.isfinite().all() and std.isfinite().all()):
        raise InferenceDiverged("the fit is no longer finite")
    (noise,) = normal([task.rng], use.draws, mean.shape[1], dtype=mean.dtype)
    return mean + std * noise, {}
