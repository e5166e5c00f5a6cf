"""Fits that several runs share, whose methods differ in settings of prediction alone."""

from collections.abc import Sequence
from copy import copy

from bnnbench.engine.run.attempt import Attempt, blaming
from bnnbench.methods.base import SharesFits


def divided(
    attempts: Sequence[Attempt],
) -> tuple[list[Attempt], list[tuple[Attempt, Attempt]]]:
    """Return the attempts to be fitted, and each other one with the one whose fit it shares."""
    first: dict[tuple[int, int], Attempt] = {}
    sharing = []
    for attempt in attempts:
        fitted = first.setdefault((attempt.run.fold, attempt.run.seed), attempt)
        if fitted is not attempt:
            sharing.append((attempt, fitted))
    return list(first.values()), sharing


COMMON = (
    *("fitted_sha256", "status", "error", "failed_at", "own_network", "provenance_entries"),
    *("fit_seconds", "compile_seconds", "fit_cpu_seconds", "busy_elsewhere", "fit_joules"),
    *("peak_bytes", "work"),
)
"""Fields that are equal in attempts that share a fit."""


def take_over(attempt: Attempt, first: Attempt) -> None:
    """Give an attempt the fit and the costs of another."""
    for name in COMMON:
        setattr(attempt, name, copy(getattr(first, name)))
    attempt.fit_of = first.run.key
    if first.posterior is not None:
        with blaming(attempt):
            assert isinstance(attempt.run.method, SharesFits)
            attempt.posterior = attempt.run.method.from_fit(first.posterior)
