"""Wider spaces contain the declared ones, and leave the descriptions of stored runs alone."""

import math

from bnnbench.datasets.base import Gaussian
from bnnbench.engine.declare.description import describe
from bnnbench.methods import METHODS, method_type
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.pbp.method import Pbp
from bnnbench.methods.tuning.method import Tuned
from bnnbench.methods.tuning.space import Single, last_part, space_of
from bnnbench.methods.tuning.wider import WIDER, wider
from bnnbench.suites.uci.settings import METHODS as OF_UCI


def test_every_wider_distribution_contains_one_that_a_method_declares():
    methods = [method_type(path)() for path in METHODS.values() if "libraries" not in path]
    declared = {
        (last_part(path), law)
        for method in (*methods, *OF_UCI.values())
        for path, law in space_of(method).fields.items()
    }
    for (name, law), wide in WIDER.items():
        assert (name, law) in declared
        inner, outer = (each.of if isinstance(each, Single) else each for each in (law, wide))
        ends = [outer.place(inner.at(u)) for u in (0.0, 1.0)]
        assert math.isclose(min(ends), 0, abs_tol=1e-9) != math.isclose(max(ends), 1, abs_tol=1e-9)
        assert all(-1e-9 < end < 1 + 1e-9 for end in ends)


def test_a_wide_search_reaches_beyond_the_declared_bound_and_nowhere_else():
    narrow, wide = (Tuned(Mfvi(), 16, wide=w).plan(400, Gaussian()).settings for w in (False, True))
    first, other = (
        {path: [setting[path] for setting in of] for path in of[0]} for of in (narrow, wide)
    )
    assert min(first["initial_std"]) >= 1e-4 > min(other["initial_std"])
    for path in first.keys() - {"initial_std"}:
        assert first[path] == other[path]


def test_stated_lengths_get_one_more_doubling():
    assert wider(space_of(Pbp())).lengths == (*space_of(Pbp()).lengths, 160)
    plans = [Tuned(Pbp(), lengths=given, wide=True).plan(400, Gaussian()) for given in ((), (3,))]
    assert [plan.lengths[-1] for plan in plans] == [160, 3]


def test_only_a_wide_search_says_so():
    assert "wide" not in str(describe(Tuned()))
    assert describe(Tuned(wide=True)) != describe(Tuned())
