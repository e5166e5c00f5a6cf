"""Leagues with given shares, and populations of scores, for tests and simulations."""

import numpy as np

from bnnbench.reports.judge.over_sets.league import SetScores, Shares, league


def with_shares(u, ranks, seconds=None):
    """Return a league of one split a set whose shares and ranks are given."""
    names = [f"m{m}" for m in range(len(u))]
    sets = [SetScores(f"set {g}", u[:, [g]].copy(), np.zeros(1)) for g in range(u.shape[1])]
    of = league(names, sets, 0.05, seconds or {})
    vars(of)["shares"] = Shares(u, ranks)
    return of


def on_one_scale(u, seconds=None):
    """Return a league whose gaps are all 1: gains are shares, and the best of each set has 1."""
    names = [f"m{m}" for m in range(len(u))]
    sets = [SetScores(f"set {g}", u[:, [g]].copy(), np.zeros(1)) for g in range(u.shape[1])]
    return league(names, sets, 0.05, seconds or {})
