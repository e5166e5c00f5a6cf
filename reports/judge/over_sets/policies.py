"""Advice that can be given from some data sets, and its outcome on others.

A policy has candidates and picks the one that would have been best on the sets that it may see: a
method, a shortlist of which the best on held-out rows is kept, or a single one for "always X".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from bnnbench.reports.judge.over_sets.league import League, SetScores

CONSTANT = {
    "AdamW": ("AdamW",),
    "the ensemble": ("Ensemble",),
    "gradient boosting": ("CatBoost", "NGBoost", "Histogram boosting"),
}
"""Recommendation that never changes → labels; the first of them in a league is meant."""


HeldOut = Float[ndarray, "methods splits blocks"]


@dataclass(frozen=True)
class Policy:
    """Candidates, the criterion that picks one of them, and their outcomes on every set."""

    name: str
    members: tuple[tuple[str, ...], ...]
    """The methods that each candidate runs."""
    select: Float[ndarray, "candidates sets"]
    """The candidate with the largest sum over the sets seen is picked."""
    u: Float[ndarray, "candidates sets"]
    nats: Float[ndarray, "candidates sets"]
    """Mean gain over the constant, in the unit of the scores."""
    keeps_best: bool = False
    """True if the best of a candidate's methods on held-out rows is kept."""


def mean_gains(of: League) -> Float[ndarray, "methods sets"]:
    """Return mean gains over the constant; minus the gap for a failed split."""
    return np.array([_gains(one, of.floor).mean(1) for one in of.sets]).T


def first_of(of: League) -> Policy:
    """Return the advice of the board: the method with the largest mean share."""
    singles = tuple((name,) for name in of.methods)
    return Policy("the board's first", singles, of.shares.u, of.shares.u, mean_gains(of))


def first_in_nats(of: League) -> Policy:
    """Return the advice to take the method with the largest mean score."""
    gains, singles = mean_gains(of), tuple((name,) for name in of.methods)
    return Policy("first by mean score", singles, gains, of.shares.u, gains)


def always(of: League) -> list[Policy]:
    """Return the recommendations that never change, as far as their methods are there."""
    gains, policies = mean_gains(of), []
    for name, labels in CONSTANT.items():
        if label := next((one for one in labels if one in of.methods), None):
            row = [of.methods.index(label)]
            u = of.shares.u[row]
            policies.append(Policy(f"always {name}", ((label,),), u, u, gains[row]))
    return policies


def shortlist(of: League, held_out: Sequence[HeldOut], size: int, name: str = "") -> Policy | None:
    """Return the advice to run `size` methods and keep, on each split, the best on held-out rows.

    `held_out` has the scores on blocks of held-out training rows, for each set and NaN for a block
    that a method did not hold out; a shortlist is compared on the blocks of all its methods.
    Methods without such scores on every set are no candidates; None if fewer than `size` have them.
    """
    known = searched(held_out)
    if len(known) < size or size < 1:
        return None
    chosen = np.array(list(combinations(known, size)))
    pairs = zip(of.sets, held_out, strict=True)
    of_sets = [_outcome_of_shortlists(one, seen, of.floor, chosen) for one, seen in pairs]
    u, nats = (np.array([outcome[k] for outcome in of_sets]).T for k in range(2))
    members = tuple(tuple(of.methods[m] for m in row) for row in chosen)
    return Policy(
        name or f"run {size}, keep the best on held-out rows", members, u, u, nats, keeps_best=True
    )


def searched(held_out: Sequence[HeldOut]) -> list[int]:
    """Return the methods with scores on held-out rows of every set, whatever splits diverged."""
    known = [~np.isnan(of).all((1, 2)) for of in held_out]
    return np.flatnonzero(np.all(known, axis=0)).tolist() if known else []


def seconds_of(of: League, members: Sequence[str]) -> float:
    """Return the seconds of fitting all members once; NaN if one is unknown."""
    return sum(of.seconds.get(name, math.nan) for name in members)


def _gains(of: SetScores, floor: float) -> Float[ndarray, "methods splits"]:
    return np.nan_to_num(of.gains, nan=-of.gap(floor))


def _outcome_of_shortlists(
    of: SetScores, held_out: HeldOut, floor: float, chosen: Int[ndarray, "shortlists size"]
) -> tuple[Float[ndarray, " shortlists"], Float[ndarray, " shortlists"]]:
    """Return the share and the mean gain of every shortlist on one set."""
    gains, gap = _gains(of, floor), of.gap(floor)
    seen = _on_common_blocks(held_out[chosen])
    best = np.take_along_axis(chosen, seen.argmax(1), axis=1)
    chosen_gains = np.take_along_axis(gains, best, axis=0)
    return np.clip(np.fmax(chosen_gains, -gap).mean(1) / gap, 0.0, 1.0), chosen_gains.mean(1)


def _on_common_blocks(
    scores: Float[ndarray, "shortlists size splits blocks"],
) -> Float[ndarray, "shortlists size splits"]:
    """Return mean scores on the blocks that every method has that ran at all on a split."""
    ran = np.asarray(~np.isnan(scores).all(3))
    common = (~np.isnan(scores) | ~ran[..., None]).all(1, keepdims=True)
    count = np.maximum(common.sum(3), 1)
    means = np.where(common, np.nan_to_num(scores), 0.0).sum(3) / count
    return np.where(ran, means, -np.inf)
