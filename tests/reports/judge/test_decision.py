"""States of methods: vectors of the specification, exclusions from best, and invariances."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bnnbench.metrics.base import Margin
from bnnbench.reports.judge.contest import Contest
from bnnbench.reports.judge.decision import decide
from bnnbench.reports.judge.participants import Exclusion
from tests.reports.judge.vectors import SET_A, SET_B, SET_C

TOLERANCE = 1e-6


def contest(scores, by_fold=False, higher_is_better=False, **settings):
    samples = {
        f"M{m}": {((k, 0) if by_fold else (0, k)): float(value) for k, value in enumerate(row)}
        for m, row in enumerate(scores)
    }
    return Contest(samples, higher_is_better, by_fold, **settings)


def states(decision):
    return [standing.state for standing in decision.standings.values()]


def by_points(scores):
    return lambda method, run: (scores[int(method[1:]), run[1]],)


def test_states_of_set_a():
    found = decide(contest(SET_A, margin=Margin(0.03)))
    assert found.level == 0.02
    assert found.question == "new seeds"
    assert states(found) == ["leads", *["worse"] * 6, "undecided", "undecided", "worse"]
    assert found.standings["M7"].adjusted_p == pytest.approx(0.3044353823, rel=1e-9)
    assert found.standings["M8"].equal_p == pytest.approx(0.04507989887, rel=1e-9)


@pytest.mark.parametrize(
    ("margin", "expected"),
    [
        (Margin(0.1), ["best", "equal", "equal", "worse"]),
        (Margin(0.02, relative=True), ["best", "equal", "worse", "worse"]),
        (None, ["leads", "undecided", "worse", "worse"]),
    ],
)
def test_states_of_set_b(margin, expected):
    found = decide(contest(SET_B, by_fold=True, overlap=1 / 9, margin=margin))
    assert found.question == "new splits"
    assert states(found) == expected
    assert found.standings["M2"].worse
    assert found.standings["M2"].witness == "M1"  # which is not the leader
    if margin and margin.relative:
        assert found.margin == pytest.approx(0.06033966665, rel=1e-9)


def test_seeds_and_points_of_set_c_are_both_new():
    found = decide(contest(SET_C.mean(2), points=by_points(SET_C)))
    assert found.question == "new seeds and new test points"
    assert found.points == 6
    p = found.standings["M1"].adjusted_p
    assert p == pytest.approx(2 * 0.01269320467, rel=1e-9)


def test_one_seed_with_points_is_about_these_networks():
    scores = np.random.default_rng(0).normal(size=(3, 1, 50)) + np.arange(3)[:, None, None]
    found = decide(contest(scores.mean(2), points=by_points(scores)))
    assert found.question == "these networks"
    assert states(found) == ["best", "worse", "worse"]
    assert decide(contest(scores.mean(2))).question == ""


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_with_several_seeds_no_cell_is_marked_by_points_alone(seeds):
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(2, seeds, 1)) + 1e-3 * rng.normal(size=(2, seeds, 400))
    scores[1] += 0.1
    found = decide(contest(scores.mean(2), points=by_points(scores)))
    assert found.question == ("" if seeds == 2 else "new seeds and new test points")
    assert "worse" not in states(found)


def test_points_that_only_some_runs_have_are_not_used():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(3, 3, 40))

    def points(method, run):
        return None if (method, run) == ("M1", (0, 2)) else (scores[int(method[1:]), run[1]],)

    assert decide(contest(scores.mean(2), points=points)).question == "new seeds"


@pytest.mark.parametrize("kind", ["constant", "unfinished"])
def test_what_is_not_eligible_is_never_best(kind):
    scores = np.random.default_rng(3).normal(size=(4, 5)) + np.arange(4)[:, None] * 50
    barred = {"M0": Exclusion(kind, "so")}
    found = decide(contest(scores, barred=barred))
    assert states(found) == ["not eligible", "best", "worse", "worse"]
    assert found.better_constants == (("M0",) if kind == "constant" else ())


def test_a_method_with_a_missing_run_is_compared_on_the_common_ones_or_not_at_all():
    rows = contest(np.random.default_rng(4).normal(size=(3, 4)) + np.array([[-90], [0], [50]]))
    short = dict(list(rows.samples["M0"].items())[:2])
    found = decide(replace(rows, samples={**rows.samples, "M0": short}))
    assert states(found) == ["not eligible", "best", "worse"]


def test_a_printed_mean_that_beats_the_leaders_is_told():
    rows = contest(np.array([[1.0, 1.1, 1.2, 1.3], [2.0, 2.1, 2.15, -9.0]]))
    rows.samples["M0"].pop((0, 3))
    found = decide(rows)
    assert found.leaders == ("M0",)
    assert found.ahead == ("M1",)
    assert found.runs == 3


def test_one_candidate_has_no_state():
    found = decide(contest(np.ones((3, 4))))
    assert states(found) == ["", "", ""]
    assert found.leaders == ("M0", "M1", "M2")


def test_equal_means_lead_together():
    found = decide(contest(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [9.0, 9.5, 9.1]])))
    assert states(found) == ["leads", "leads", "worse"]


def test_rows_that_differ_by_a_constant_are_certain():
    found = decide(contest(np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]])))
    assert states(found) == ["best", "worse"]
    assert found.standings["M1"].adjusted_p == 0


def test_folds_without_a_known_overlap_are_not_tested():
    found = decide(contest(SET_B, by_fold=True, overlap=None))
    assert set(states(found)) == {""}
    assert "rows" in found.untested


def test_an_undecided_method_says_how_many_runs_would_decide():
    found = decide(contest(SET_A))
    assert found.standings["M7"].plan.needed > 3
    assert found.standings["M1"].plan is None


@st.composite
def tables(draw):
    """A table of methods by runs, with gaps of all sizes."""
    methods, runs = draw(st.integers(2, 12)), draw(st.integers(3, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    gaps = rng.choice([0.0, 0.3, 1.0, 5.0], size=(methods, 1))
    spread = rng.choice([0.1, 1.0, 4.0], size=(methods, 1))
    return 10 + gaps + spread * rng.normal(size=(methods, runs)) + rng.normal(size=(1, runs))


def values(decision, names):
    standings = [decision.standings[name] for name in names]
    numbers = [[s.adjusted_p or 0.0, s.equal_p or 0.0] for s in standings]
    return [s.state for s in standings], numbers


def close_to_a_level(decision):
    numbers = [(s.adjusted_p, s.equal_p) for s in decision.standings.values()]
    return any(
        p is not None and math.isclose(p, decision.level, rel_tol=1e-5) for s in numbers for p in s
    )


def assert_same(first, second, names, others):
    if close_to_a_level(first):
        return
    (states_, numbers), (others_, more) = values(first, names), values(second, others)
    assert states_ == others_
    np.testing.assert_allclose(numbers, more, rtol=TOLERANCE, atol=1e-9)


MARGIN = Margin(0.02, relative=True)


@settings(max_examples=60)
@given(tables(), st.booleans())
def test_the_direction_of_a_score_does_not_matter(scores, by_fold):
    first = decide(contest(scores, by_fold, margin=MARGIN))
    second = decide(contest(-scores, by_fold, True, margin=MARGIN))
    assert_same(first, second, first.standings, first.standings)


@settings(max_examples=60)
@given(tables(), st.sampled_from([1e-3, 0.5, 7.0, 1e6]))
def test_the_unit_of_a_score_does_not_matter(scores, factor):
    first = decide(contest(scores, margin=MARGIN))
    second = decide(contest(scores * factor, margin=MARGIN))
    assert_same(first, second, first.standings, first.standings)


@settings(max_examples=60)
@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_methods_and_runs_does_not_matter(scores, random):
    methods, runs = list(range(len(scores))), list(range(scores.shape[1]))
    random.shuffle(methods)
    random.shuffle(runs)
    first = decide(contest(scores, margin=MARGIN))
    second = decide(contest(scores[methods][:, runs], margin=MARGIN))
    names = [f"M{m}" for m in methods]
    assert_same(first, second, names, list(second.standings))


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_points_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    scores = 10 + rng.normal(size=(5, 3, 30)) + rng.normal(size=(5, 1, 1))
    mixed = scores[..., rng.permutation(30)]
    first, second = (
        decide(contest(s.mean(2), points=by_points(s), margin=MARGIN)) for s in (scores, mixed)
    )
    assert_same(first, second, first.standings, first.standings)


@settings(max_examples=60)
@given(tables())
def test_methods_that_are_not_eligible_change_nothing(scores):
    first = decide(contest(scores, margin=MARGIN))
    wider = np.concatenate([scores, scores[:1] * 0 + np.arange(scores.shape[1]) % 2])
    barred = {f"M{len(scores)}": Exclusion("constant", "a constant")}
    second = decide(contest(wider, margin=MARGIN, barred=barred))
    assert_same(first, second, first.standings, first.standings)


@settings(max_examples=60)
@given(tables())
def test_a_copy_of_a_method_changes_nothing(scores):
    first = decide(contest(scores, margin=MARGIN))
    second = decide(contest(np.concatenate([scores, scores[-1:]]), margin=MARGIN))
    assert_same(first, second, first.standings, first.standings)
    assert (
        second.standings[f"M{len(scores)}"].state == second.standings[f"M{len(scores) - 1}"].state
    )


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_a_hopeless_method_costs_others_no_more_than_the_correction_for_their_number(seed):
    """With plain variances it is eliminated first, and no trace of it is left."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(6, 12)) + rng.choice([0, 0.7, 2], size=(6, 1))
    hopeless = 1e6 + rng.normal(size=(1, 12))
    first = decide(contest(scores))
    second = decide(contest(np.concatenate([scores, hopeless])))
    assert second.standings["M6"].state == "worse"
    assert_same(first, second, first.standings, first.standings)


def test_a_wild_method_leaves_most_of_the_worse_where_they_were():
    rng, kept, before = np.random.default_rng(5), 0, 0
    for _ in range(200):
        scores = rng.normal(size=(14, 3)) + np.where(np.arange(14), 6.0, 0.0)[:, None]
        wild = 12 + 8 * rng.normal(size=(1, 3))
        calm = states(decide(contest(scores)))
        with_wild = states(decide(contest(np.concatenate([scores, wild]))))
        before += calm.count("worse")
        kept += sum(a == b == "worse" for a, b in zip(calm, with_wild, strict=False))
    assert kept >= 0.9 * before
