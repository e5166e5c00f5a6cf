"""Shared parts of methods that use the average of the iterates."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import Problem
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.training import Stack
from bnnbench.methods.trajectory.collector import Descent, follow
from bnnbench.methods.trajectory.moments import Moments
from bnnbench.methods.trajectory.running_statistics import recomputed


def averaged(
    problems: Sequence[Problem],
    rngs: Sequence[torch.Generator],
    descent: Descent,
    rank: int = 0,
) -> tuple[Stack, Moments]:
    """Return the stack at the average of the recorded iterates, and their moments."""
    moments = Moments(rank)
    stack = follow(
        problems,
        rngs,
        descent,
        lambda now: moments.add(now.weights.detach()),
        changing=[moments.changing],
    )
    stack.weights = moments.mean
    return stack, moments


def posterior_of(
    stack: Stack,
    problem: Problem,
    member: int,
    draws: Float[Tensor, "draws parameters"],
    details: dict[str, float],
) -> NetworkPosterior:
    """Return the mixture of one member's weight vectors, each with separate batch statistics."""
    trained = stack.posterior(member)
    buffers = recomputed(
        stack.network, draws, problem.train.inputs, trained.buffers, stack.batches.batch_size
    )
    diagnostics = trained.diagnostics | details
    return replace(trained, weights=draws, buffers=buffers, diagnostics=diagnostics)
