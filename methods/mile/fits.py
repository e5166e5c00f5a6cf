"""Fits of one method with several settings, problems and streams side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, Problem
from bnnbench.methods.checkpoints import checkpoint
from bnnbench.methods.fitting import progress
from bnnbench.methods.fitting.minibatches import require_unaugmented
from bnnbench.methods.fitting.network_posterior import convolves
from bnnbench.methods.fitting.randomness import Streams
from bnnbench.methods.hmc.method import Backend
from bnnbench.methods.mile.adaptation import Adaptation, Sampling, chosen_weights
from bnnbench.methods.mile.chains import Chains
from bnnbench.methods.mile.diagnostics import outcome
from bnnbench.methods.mile.losses import loss_of
from bnnbench.methods.mile.members import Training
from bnnbench.methods.mile.model import Model

MOST_NUMBERS = 2**18
"""Maximum number of weights of all chains in a stack."""


@runtime_checkable
class Settings(Protocol):
    """The settings that chains need."""

    @property
    def chains(self) -> int: ...
    @property
    def warmup(self) -> int: ...
    @property
    def thinning(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def prior_factor(self) -> float | None: ...
    @property
    def energy_variance(self) -> tuple[float, float]: ...
    @property
    def training(self) -> Training: ...
    @property
    def backend(self) -> Backend: ...


@dataclass(frozen=True)
class Fit:
    """One fit: settings, rows, and the seeds of its networks and of its chains."""

    method: Settings
    problem: Problem
    seeds: tuple[int, ...]

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for fits whose chains start at the same networks and draw the same numbers."""
        return id(self.problem.train), id(self.problem.calibration), self.seeds


def fit_together(
    methods: Sequence[Settings], problems: Sequence[Problem], rngs: Sequence[torch.Generator]
) -> list[Posterior | InferenceDiverged]:
    """Return the result of each fit; each distinct generator draws once.

    Raises ValueError for problems that differ in more than their rows.
    """
    kinds = {(p.architecture, p.likelihood, p.prior, p.input_shape) for p in problems}
    if len(kinds) != 1:
        raise ValueError(f"needed problems that differ only in their rows; got {kinds}")
    count = methods[0].chains + 1
    drawn = {
        id(rng): tuple(torch.randint(2**62, (count,), generator=rng, device=rng.device).tolist())
        for rng in {id(rng): rng for rng in rngs}.values()
    }
    fits = [
        Fit(method, problem, drawn[id(rng)])
        for method, problem, rng in zip(methods, problems, rngs, strict=True)
    ]
    model = Model.of(problems[0])
    require_unaugmented(problems, methods[0])
    parts = list(_parts(fits, model))
    results: list[Posterior | InferenceDiverged] = []
    for number, part in enumerate(parts):
        with progress.part(number, len(parts)):
            results += _fit_stack(model, part)
    return results


def _parts(fits: Sequence[Fit], model: Model) -> Iterator[Sequence[Fit]]:
    """Yield stacks of fits: of one for convolutions."""
    numbers = model.network.parameter_count * fits[0].method.chains
    size = 1 if convolves(model.architecture) else max(1, MOST_NUMBERS // numbers)
    for start in range(0, len(fits), size):
        yield fits[start : start + size]


@torch.no_grad()
def _fit_stack(model: Model, fits: Sequence[Fit]) -> list[Posterior | InferenceDiverged]:
    method, device = fits[0].method, fits[0].problem.train.inputs.device
    distinct = {fit.key: fit for fit in fits}
    with progress.part(0, 2):
        networks = _networks(model, list(distinct.values()))
    starts = dict(zip(distinct, networks.unflatten(0, (-1, method.chains)), strict=True))
    rngs = {key: _generator(fit.seeds[-1], device) for key, fit in distinct.items()}
    streams = Streams([rngs[fit.key] for fit in fits])
    states = torch.cat([starts[fit.key] for fit in fits])
    chosen = streams.to_members(chosen_weights(states.shape[1], streams.distinct))
    problems = [fit.problem for fit in fits]
    splits = [problem.train for problem in problems for _ in range(method.chains)]
    loss = loss_of(model, splits, method.backend)
    stds = [model.prior_stds(fit.problem, fit.method.prior_factor) for fit in fits]
    rows = len(problems[0].train)
    chains = Chains(loss, rows, _each(method, torch.stack(stds)), states, streams)
    targets = torch.tensor([fit.method.energy_variance for fit in fits], device=device).double()
    first, last = _each(method, targets).unbind(1)
    adaptation = Adaptation(states, (first, last), _each(method, chosen), method.warmup)
    sampling = Sampling(adaptation.size)
    with progress.part(1, 2):
        _run(method, chains, adaptation, sampling)
    parts = [slice(n, n + method.chains) for n in range(0, len(states), method.chains)]
    return [
        outcome(model, problem, part, chains, adaptation, sampling)
        for problem, part in zip(problems, parts, strict=True)
    ]


def _run(method: Settings, chains: Chains, adaptation: Adaptation, sampling: Sampling) -> None:
    changing = [*chains.changing, *adaptation.changing, *sampling.changing]
    for step in checkpoint.epochs(method.steps, *changing):
        errors, failed = chains.step(adaptation.size, adaptation.length)
        if step < method.warmup:
            adaptation.update(step, chains.loss.states, errors, failed)
        else:
            done = step + 1 - method.warmup
            sampling.add(chains.loss.states, errors, failed, keep=done % method.thinning == 0)
        progress.report(step + 1, method.steps, -float(chains.log_density.mean()))


def _networks(model: Model, fits: Sequence[Fit]) -> Float[Tensor, "members parameters"]:
    """Return the trained networks of each fit, in order."""
    device = fits[0].problem.train.inputs.device
    problems = [fit.problem for fit in fits for _ in fit.seeds[:-1]]
    rngs = [_generator(seed, device) for fit in fits for seed in fit.seeds[:-1]]
    return fits[0].method.training.members(model, problems, rngs)


def _each(method: Settings, values: Tensor) -> Tensor:
    """Return the values of each fit, for each of its chains."""
    return values.repeat_interleave(method.chains, 0)


def _generator(seed: int, device: torch.device) -> torch.Generator:
    return torch.Generator(device).manual_seed(seed)
