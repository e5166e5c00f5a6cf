"""The iterations that samplers with leapfrog trajectories share, and their common settings."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import torch

from bnnbench.methods.base import Problem
from bnnbench.methods.checkpoints import checkpoint
from bnnbench.methods.compiled.first_rows import fit_first_rows
from bnnbench.methods.fitting import progress
from bnnbench.methods.fitting.settings import (
    require_between,
    require_choice,
    require_count,
    require_positive,
)
from bnnbench.methods.hmc.adaptation import Warmup
from bnnbench.methods.hmc.chains import Chains
from bnnbench.methods.hmc.posterior import Traces

Backend = Literal["compiled", "torch"]


@runtime_checkable
class Sampler(Protocol):
    """A method that moves chains along leapfrog trajectories."""

    @property
    def draws(self) -> int:
        """Number of weight vectors recorded over all chains."""
        ...

    @property
    def thinning(self) -> int:
        """Moves of a chain per recorded weight vector."""
        ...

    @property
    def warmup(self) -> int:
        """Moves of a chain before the first that may be recorded."""
        ...

    @property
    def chains(self) -> int:
        """Number of chains."""
        ...

    @property
    def leapfrog_steps(self) -> int:
        """Maximum number of steps in a trajectory."""
        ...


def require_sampler(method: Any) -> None:
    """Raise ValueError or TypeError for common settings that make no sense."""
    require_count(method, "draws", "thinning", "chains", "leapfrog_steps")
    require_count(method, "warmup", least=0)
    require_positive(method, "trajectory_length")
    require_between(method, 0.0, 1.0, "target_acceptance")
    require_choice(method, "backend", get_args(Backend))
    if method.draws % method.chains:
        raise ValueError(
            f"{type(method).__name__} needs draws to be a multiple of chains; got {method.draws} "
            f"and {method.chains}"
        )


def compile_trajectories(method: Any, problem: Problem, **shorter: int) -> None:
    """Compile the trajectories by a fit of one move a chain, with these further settings."""
    if method.backend == "compiled":
        shortest = {"draws": method.chains, "thinning": 1, "warmup": 0, "leapfrog_steps": 1}
        fit_first_rows(replace(method, **shortest, **shorter), problem)


def iterations_of(method: Sampler) -> int:
    """Return the number of moves of each chain."""
    return method.warmup + method.draws // method.chains * method.thinning


def sample(
    method: Sampler,
    chains: Chains,
    warmup: Warmup,
    rngs: Sequence[torch.Generator],
    length: float,
) -> Traces:
    """Move the chains through all iterations, and return their traces after warm-up.

    The longest trajectory has `length` over the step size leapfrog steps, the shortest half as
    many.
    """
    iterations, traces = iterations_of(method), Traces(chains)
    changing = [chains.changing, *warmup.changing, *traces.changing, *rngs]
    for iteration in checkpoint.epochs(iterations, *changing):
        share = (1 + van_der_corput(iteration + 1)) / 2
        longest = (length / warmup.step_size).clamp(max=method.leapfrog_steps)
        steps = (share * longest).ceil().clamp(min=1)
        transition = chains.move(warmup.step_size, steps.long())
        warmup.update(transition.acceptance)
        if iteration >= method.warmup:
            done = iteration + 1 - method.warmup
            traces.follow(transition, keep=done % method.thinning == 0)
        progress.report(iteration + 1, iterations, float(chains.losses.mean()))
    return traces


def van_der_corput(number: int) -> float:
    """Return the number's binary digits mirrored at the point: values spread evenly in (0, 1).

    Trajectories of such lengths avoid the resonances of a fixed length (Hoffman, Radul and
    Sountsov, 2021, "An Adaptive-MCMC Scheme for Setting Trajectory Lengths").
    """
    return int(f"{number:b}"[::-1], 2) / 2 ** number.bit_length()
