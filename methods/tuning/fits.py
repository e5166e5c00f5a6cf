"""Fits of one method at several settings to several problems."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from bnnbench.methods.base import BatchedMethod, InferenceDiverged, Method, Posterior, Problem
from bnnbench.methods.fitting import progress
from bnnbench.methods.tuning.stacks import Variants


@dataclass(frozen=True)
class Fits:
    """The result of each fit, and the seconds attributed to it."""

    results: list[Posterior | InferenceDiverged]
    seconds: list[float]


def fits_as_one_call(method: Method) -> bool:
    """Return whether fits at several settings take a single call."""
    return isinstance(method, Variants)


def fit_all(
    methods: Sequence[Method], problems: Sequence[Problem], rngs: Sequence[torch.Generator]
) -> Fits:
    """Return `methods[m].fit(problems[m], rngs[m])` of every member, without advancing streams.

    Members with the same stream draw the same numbers. Fits in one call share its time equally. Any
    exception but `InferenceDiverged` is raised.
    """
    results: dict[int, Posterior | InferenceDiverged] = {}
    seconds = [0.0] * len(methods)
    calls = list(_calls(methods, problems))
    for number, members in enumerate(calls):
        start = time.perf_counter()
        with progress.part(number, len(calls)):
            fitted = _fit(
                [methods[m] for m in members],
                [problems[m] for m in members],
                _copies([rngs[m] for m in members]),
            )
        each = (time.perf_counter() - start) / len(members)
        for member, result in zip(members, fitted, strict=True):
            results[member], seconds[member] = result, each
    return Fits([results[m] for m in range(len(methods))], seconds)


def _calls(methods: Sequence[Method], problems: Sequence[Problem]) -> Iterator[list[int]]:
    """Yield the members of every call: of equal shape and, unless variants stack, one setting."""
    groups: dict[object, list[int]] = {}
    for member, (method, problem) in enumerate(zip(methods, problems, strict=True)):
        kind = None if fits_as_one_call(method) else method
        groups.setdefault((kind, len(problem.train), problem.likelihood), []).append(member)
    for group in groups.values():
        if isinstance(methods[group[0]], BatchedMethod):
            yield group
        else:
            yield from ([member] for member in group)


def _fit(
    methods: Sequence[Method], problems: Sequence[Problem], rngs: Sequence[torch.Generator]
) -> Sequence[Posterior | InferenceDiverged]:
    first = methods[0]
    if isinstance(first, Variants):
        return first.fit_variants(methods, problems, rngs)
    copies = [_copy(rng) for rng in rngs]  # members with one stream must not draw from it in turn
    if isinstance(first, BatchedMethod):
        return first.fit_many(problems, copies)
    (problem,), (rng,) = problems, copies
    try:
        return [first.fit(problem, rng)]
    except InferenceDiverged as failure:
        return [failure]


def _copies(rngs: Sequence[torch.Generator]) -> list[torch.Generator]:
    """Return copies of streams in their current states; shared streams share a copy."""
    copies = {id(rng): _copy(rng) for rng in rngs}
    return [copies[id(rng)] for rng in rngs]


def _copy(rng: torch.Generator) -> torch.Generator:
    copy = torch.Generator(rng.device)
    copy.set_state(rng.get_state())
    return copy
