"""The verdict over data sets: the specification's vector, edge cases, and grades."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from bnnbench.reports.judge.over_sets.entries import Entries, league_over
from bnnbench.reports.judge.over_sets.grades import Evidence, grade, sentence, short
from bnnbench.reports.judge.over_sets.league import SetScores, league, shares
from bnnbench.reports.judge.over_sets.verdict import verdict
from tests.reports.judge.over_sets.leagues import on_one_scale, with_shares
from tests.reports.judge.over_sets.test_flips import specified


@pytest.fixture(scope="module")
def found():
    u = specified()
    return verdict(with_shares(u, np.apply_along_axis(stats.rankdata, 0, u) / len(u)))


def test_the_verdict_of_the_specification(found):
    first, second, *_, last = found.places
    assert [place.method for place in found.places] == [f"m{m}" for m in range(6)]
    assert (found.grade, found.evidence.stable) == ("leads", True)
    assert first.share == pytest.approx(0.851771, abs=5e-7)
    assert second.share == pytest.approx(0.796141, abs=5e-7)
    assert last.share == pytest.approx(0.609638, abs=5e-7)
    assert (first.behind_half, second.behind_half) == pytest.approx((0, 0.085467), abs=5e-7)
    assert last.behind_half == pytest.approx(0.065262, abs=5e-7)
    assert [place.worse for place in found.places] == [False, False, True, True, True, True]


def test_mean_ranks_wins_and_losses_are_counts(found):
    u = specified()
    ranks = len(u) + 1 - np.apply_along_axis(stats.rankdata, 0, u)
    for m, place in enumerate(found.places):
        assert place.rank == pytest.approx(ranks[m].mean())
        assert (place.wins, place.losses) == ((u[m] > u[0]).sum(), (u[m] < u[0]).sum())


def test_the_range_of_worse_methods_is_that_of_leagues_without_each_set(found):
    u, counts = specified(), []
    for g in range(u.shape[1]):
        part = np.delete(u, g, axis=1)
        ranks = np.apply_along_axis(stats.rankdata, 0, part) / len(part)
        counts.append(verdict(with_shares(part, ranks)).evidence.worse)
    assert (found.fewest_worse, found.most_worse) == (min(counts), max(counts))


def test_the_share_of_redraws_is_near_the_multinomial_one(found):
    u = specified()
    drawn = np.random.default_rng(5).multinomial(12, np.full(12, 1 / 12), 20_000)
    expected = np.mean((u @ drawn.T).argmax(0) == 0)
    assert found.evidence.share == pytest.approx(expected, abs=0.03)


def test_fewer_than_eight_sets_have_no_decision():
    with pytest.raises(ValueError, match="needs 8 of them, not 7"):
        on_one_scale(np.ones((2, 7)))


def test_methods_with_equal_scores_are_one_candidate():
    u = np.random.default_rng(0).uniform(size=(2, 9))
    of = on_one_scale(np.vstack([u, u[:1]]))
    assert of.methods == ("m0", "m1")
    assert of.alike["m0"] == ("m2",)


def test_of_tied_methods_the_cheaper_is_first_and_neither_is_best():
    u = np.zeros((3, 8))
    u[0, ::2] = u[1, 1::2] = 1.0
    found = verdict(on_one_scale(u, {"m0": 2.0, "m1": 1.0, "m2": 1.0}))
    assert found.first == "m1"
    assert found.evidence.tied
    assert found.grade in ("not shown to be best", "not decided")


def test_units_of_the_target_do_not_matter():
    rng = np.random.default_rng(3)
    scores = [rng.normal(size=(4, 5)) for _ in range(8)]
    sets = [SetScores(str(g), s, np.full(5, -2.0)) for g, s in enumerate(scores)]
    shifted = [
        replace(of, scores=of.scores + g, constant=of.constant + g) for g, of in enumerate(sets)
    ]
    assert np.allclose(shares(sets, 0.05).u, shares(shifted, 0.05).u)


def test_a_diverging_split_never_beats_a_finite_one():
    one = SetScores("a", np.array([[1.0, 1.0], [-9.0, -9.0], [1.0, np.nan]]), np.zeros(2))
    found = shares([one], 0.05)
    assert found.u[:, 0] == pytest.approx([1.0, 0.0, 0.0])
    assert one.cut(0.05) == pytest.approx([1.0, -1.0, 0.0])


def test_a_set_without_signal_does_not_shout():
    one = SetScores("a", np.array([[0.004, 0.004], [-0.001, 0.0]]), np.zeros(2))
    assert shares([one], 0.05).u[:, 0] == pytest.approx([0.08, 0.0])


def test_sets_below_the_constant_are_named_and_bar_the_grade_best():
    u = np.vstack([np.ones(12), np.linspace(0.0, 0.2, 12)])
    u[0, :2] = (-0.2, -0.3)
    u[1, :2] = (-0.5, -0.5)
    found = verdict(on_one_scale(u))
    assert found.places[0].below == ("set 0", "set 1")
    assert found.evidence.far_below == 2
    assert found.grade == "leads"


def test_the_list_of_sets_has_a_checksum_of_its_titles():
    u = np.random.default_rng(0).uniform(size=(2, 8))
    of = on_one_scale(u)
    other = league(of.methods, [replace(of.sets[0], title="other"), *of.sets[1:]], 0.05, {})
    turned = league(of.methods, of.sets[::-1], 0.05, {})
    assert of.checksum == turned.checksum != other.checksum


def entries(title, **ended):
    """Return a set of two folds; "x" marks a fit that diverged."""
    statuses = {m: {(f, 0): "diverged" if c == "x" else "completed" for f, c in enumerate(of)}
                for m, of in ended.items()}  # fmt: skip
    scores = {m: {run: 1.0 + len(m) for run, s in of.items() if s == "completed"}
              for m, of in statuses.items()}  # fmt: skip
    return Entries(title, True, statuses, scores, frozenset({"c"}))


def test_a_method_that_was_not_run_on_a_set_is_in_no_league_and_one_that_diverged_is():
    sets = [entries(str(g), c="..", A="..", B="x.", part="..") for g in range(7)]
    last = entries("7", c="..", A="..", B="..", part=".")
    of = league_over([*sets, last], ["A", "B", "part", "c"], 0.05, {})
    assert of.methods == ("A", "B")
    assert np.isnan(of.sets[0].scores).tolist() == [[False, False], [True, False]]
    assert league_over(sets, ["A", "B"], 0.05, {}) is None


FACTS = Evidence("A", 4, 4, share=0.9)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "best"),
        ({"worse": 3, "equal": 1}, "best"),
        ({"worse": 3}, "leads"),
        ({"worse": 2}, "leads"),
        ({"worse": 2, "share": 0.79}, "not shown to be best"),
        ({"worse": 1}, "not shown to be best"),
        ({"worse": 0}, "not decided"),
        ({"others_first": {"yacht": "B"}}, "not shown to be best"),
        ({"first_by_rank": False}, "leads"),
        ({"far_below": 2}, "leads"),
        ({"far_below": 1}, "best"),
        ({"tied": True}, "not shown to be best"),
        ({"share": None, "worse": 2}, "leads"),
        ({"rivals": 0, "worse": 0}, "not decided"),
    ],
)
def test_grades_by_their_conditions(changed, expected):
    assert grade(replace(FACTS, **changed)) == expected


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "A is best over tables like these: all 4 others are worse."),
        ({"worse": 3}, "A leads over tables like these: 3 of 4 others are worse, the rest is open; "
         "first whichever data set is left out, and in 90 % of redraws."),
        ({"worse": 1, "others_first": {"yacht": "B"}}, "A has the largest mean over tables like "
         "these, but is not shown to be best: 1 of 4 others is worse; B is first without yacht."),
        ({"worse": 0}, "A has the largest mean, but tables like these do not tell the methods "
         "apart."),
    ],
)  # fmt: skip
def test_sentences_say_what_is_known(changed, words):
    assert sentence(replace(FACTS, **changed)) == words


def test_headlines_claim_no_more_than_the_grade():
    assert short(replace(FACTS, place="these five data sets"), "A") == (
        "Use A: it is best on these five data sets."
    )
    assert short(replace(FACTS, worse=3, equal=1, place="one data set"), "B") == (
        "Use B: as good as any on one data set."
    )
    assert short(replace(FACTS, worse=2), "A") == "Use A first: it leads over tables like these."
    assert short(replace(FACTS, worse=1), "A") == "A is first, but not shown to be best."
    assert short(replace(FACTS, worse=1), "B") == (
        "None is best: use B, the cheapest near the first."
    )
    assert short(replace(FACTS, worse=0), "B") == (
        "Nothing is decided: use B, the cheapest near the first."
    )
    assert short(replace(FACTS, worse=0), "A") == "A has the best mean; nothing is decided."
