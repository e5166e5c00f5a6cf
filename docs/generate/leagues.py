"""Populations of leagues whose truly best methods are known, for simulations of the decision.

A set has a gap between the constant and a perfect method, log-normal with median .7 nats and log
standard deviation 1.1. A method loses a log-normal share of it, with tails of Student's t with
three degrees of freedom, correlated within families; a share of cells fails.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from bnnbench.reports.judge.over_sets.league import League, SetScores, league
from bnnbench.reports.pages.site.leagues import league_of
from docs.generate.finished_runs import tasks

FLOOR, SPREAD, NOISE = 0.05, 0.7, 0.05
"""Floor of gaps in nats, factor of Student's t in the logarithm of a loss, and noise of splits in
gaps."""
NARROW = SPREAD / 3**0.5
"""The factor with which the logarithm of a loss has standard deviation .7."""

Gains = Callable[[np.random.Generator, int], Float[ndarray, "methods sets"]]
"""Function from a generator and the number of sets to gains over the constant, in nats."""


@dataclass(frozen=True)
class Population:
    """Leagues from one distribution."""

    name: str
    gains: Gains
    best: Bool[ndarray, " methods"]
    """True for the methods that are best, or tied for best."""

    def draw(self, rng: np.random.Generator, sets: int) -> League:
        """Return a league of one split a set."""
        gains = self.gains(rng, sets)
        scores = [SetScores(str(g), gains[:, [g]], np.zeros(1)) for g in range(sets)]
        return league([f"m{m}" for m in range(len(gains))], scores, FLOOR, {})


def losses(
    medians: Float[ndarray, " methods"],
    family: int = 3,
    correlation: float = 0.5,
    failing: Float[ndarray, " methods"] | float = 0.03,
    spread: float = SPREAD,
) -> Gains:
    """Return gains of methods that lose `medians` of the gap, times exp(`spread` t).

    A share `failing` of their cells falls by an exponential of mean 2 nats.
    """
    methods = len(medians)

    def drawn(rng: np.random.Generator, sets: int) -> Float[ndarray, "methods sets"]:
        gap = np.maximum(FLOOR, 0.7 * np.exp(1.1 * rng.normal(size=sets)))
        of_family = rng.normal(size=(-(-methods // family), sets)).repeat(family, 0)[:methods]
        alone = rng.normal(size=(methods, sets))
        z = np.sqrt(correlation) * of_family + np.sqrt(1 - correlation) * alone
        t = z / np.sqrt(rng.chisquare(3, (methods, sets)) / 3)
        gains = gap * (1 - medians[:, None] * np.exp(spread * t))
        fails = rng.uniform(size=gains.shape) < np.reshape(failing, (-1, 1))
        gains -= fails * rng.exponential(2.0, gains.shape)
        return gains + NOISE * gap * rng.normal(size=gains.shape)

    return drawn


def tied_in_shares(name: str, fails: Float[ndarray, " methods"]) -> Population:
    """Return methods of equal mean share of the gap, which fail on different shares of the sets.

    Those that fail lose .15 of the gap; the loss of those that never do is found by bisection.
    """
    low, high = 0.15, 0.6
    for _ in range(16):
        middle = (low + high) / 2
        gains = losses(np.where(fails > 0, 0.15, middle), failing=fails)
        of = gains(np.random.default_rng(2), 40_000)
        u = np.clip(of / np.maximum(of.max(0), FLOOR), 0, 1).mean(1)
        low, high = (middle, high) if u[fails == 0].mean() > u[fails > 0].mean() else (low, middle)
    gains = losses(np.where(fails > 0, 0.15, (low + high) / 2), failing=fails)
    return Population(name, gains, np.ones(len(fails), bool))


def permuted() -> Population:
    """Return the bundle's scores over tables, with the methods' labels permuted on every set."""
    leagues = (league_of(task, task.scales[0].name) for task in tasks())
    real = next(of for of in leagues if of is not None)
    scores = [(of.scores - of.constant).mean(1) for of in real.sets]

    def drawn(rng: np.random.Generator, sets: int) -> Float[ndarray, "methods sets"]:
        chosen = rng.integers(len(scores), size=sets)
        return np.array([rng.permutation(scores[g]) for g in chosen]).T

    name = f"scores of {len(real.methods)} methods on {len(scores)} tables, labels permuted"
    return Population(name, drawn, np.ones(len(real.methods), bool))


def populations(methods: int = 15) -> list[Population]:
    """Return the populations of the simulation."""
    index = np.arange(methods)
    tied, first = np.ones(methods, bool), index == 0
    half, ladder = np.where(index % 2, 0.33, 0.15), np.linspace(0.12, 0.60, methods)
    moderate, far = np.where(first, 0.13, 0.22), np.where(first, 0.08, 0.22)
    equal = np.full(methods, 0.2)
    return [
        Population("all equal", losses(equal), tied),
        Population("all equal, families of 8 with correlation .9", losses(equal, 8, 0.9), tied),
        tied_in_shares(
            "one fails on 10 % of sets, the others never, equal mean share",
            np.where(first, 0.10, 0.0),
        ),
        tied_in_shares(
            "half fail on 8 %, half never, equal mean share", np.where(index % 2, 0.08, 0.0)
        ),
        permuted(),
        Population("half tied for best, .15 against .33", losses(half), index % 2 == 0),
        Population("one best, .13 against .22", losses(moderate), first),
        Population("one far best, .08 against .22", losses(far), first),
        Population("a ladder from .12 to .60", losses(ladder), first),
        Population(
            "half tied for best, .15 against .33, less spread",
            losses(half, spread=NARROW),
            index % 2 == 0,
        ),
        Population("one far best, .08 against .22, less spread", losses(far, spread=NARROW), first),
    ]
