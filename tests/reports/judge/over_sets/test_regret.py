"""The regret of advice: closed cases, loops over sets left out, and the interval's coverage."""

from itertools import combinations

import numpy as np
import pytest

from bnnbench.reports.judge.over_sets.draws import redraws
from bnnbench.reports.judge.over_sets.league import SetScores, first_largest, league
from bnnbench.reports.judge.over_sets.policies import first_of, shortlist
from bnnbench.reports.judge.over_sets.regret import interval, outcomes, regrets
from bnnbench.reports.judge.over_sets.rule import nested_regrets, rules
from bnnbench.reports.judge.over_sets.worth import noise_floor
from tests.reports.judge.over_sets.leagues import on_one_scale, with_shares


def random_league(seed=0, methods=5, sets=9, splits=3):
    rng = np.random.default_rng(seed)
    names = ["AdamW", "Ensemble", *(f"m{m}" for m in range(methods - 2))]
    scores = [rng.normal(1.0, 0.4, (methods, splits)) for _ in range(sets)]
    held = [(s + rng.normal(0, 0.3, s.shape))[:, :, None] for s in scores]
    of = [SetScores(f"set {g}", s, np.zeros(splits)) for g, s in enumerate(scores)]
    return league(names, of, 0.05, {n: 1.0 + k for k, n in enumerate(names)}), held


def test_regret_of_two_methods_by_hand():
    """m0 is best on five sets, m1 on four: left out, m0 has a tie or less, and the choice turns."""
    u = np.zeros((2, 9))
    u[0, :5] = u[1, 5:] = 1.0
    of = on_one_scale(u, {"m0": 1.0, "m1": 2.0})
    board, *_ = outcomes(of)
    assert board.recommended["set 8"] == ("m0",)
    assert board.recommended["set 0"] == ("m0",)  # four wins each without it: the cheaper
    assert board.regret.value == pytest.approx(4 / 9)


def test_the_board_never_sees_the_set_that_is_left_out():
    of, _ = random_league()
    board = outcomes(of)[0]
    u, best = of.shares.u, of.shares.u.max(0)
    expected = []
    for g in range(u.shape[1]):
        chosen = int(np.delete(u, g, axis=1).sum(1).argmax())
        assert board.recommended[f"set {g}"] == (of.methods[chosen],)
        expected.append(best[g] - u[chosen, g])
    assert board.regret.value == pytest.approx(np.mean(expected))


def test_a_redraw_leaves_out_every_copy_of_a_set():
    of, _ = random_league(1)
    u, best = of.shares.u, of.shares.u.max(0)
    weights = redraws(9, 40)
    found = regrets(of, first_of(of), weights)[:-1]
    for w, value in zip(weights, found, strict=True):
        expected = 0.0
        for g in np.flatnonzero(w):
            left = w.copy()
            left[g] = 0
            expected += w[g] * (best[g] - u[int((u @ left).argmax()), g]) / 9
        assert value == pytest.approx(expected)


def test_a_shortlist_keeps_the_best_on_held_out_rows_of_each_split():
    of, held = random_league(2)
    policy = shortlist(of, held, 2)
    for k, members in enumerate(combinations(range(5), 2)):
        for g, one in enumerate(of.sets):
            kept = [
                one.scores[members[int(held[g][list(members), f, 0].argmax())], f] for f in range(3)
            ]
            gap = one.scores.mean(1).max()
            cut = np.maximum(kept, -gap).mean() / gap
            assert policy.u[k, g] == pytest.approx(np.clip(cut, 0, 1))
            assert policy.nats[k, g] == pytest.approx(np.mean(kept))


def test_a_shortlist_is_compared_on_the_blocks_that_all_its_methods_held_out():
    one = SetScores("a", np.array([[1.0], [0.5]]), np.zeros(1))
    of = league(["m0", "m1"], [one] * 8, 0.05, {})
    held = np.array([[[0.2, 0.0]], [[0.1, np.nan]]])  # m0 is better on the block of both
    assert shortlist(of, [held] * 8, 2).u == pytest.approx(np.ones((1, 8)))


def test_without_held_out_scores_of_two_methods_there_is_no_shortlist():
    of, held = random_league()
    unknown = [np.where(np.arange(5)[:, None, None] > 0, np.nan, h) for h in held]
    assert shortlist(of, unknown, 2) is None


def test_perfect_held_out_rows_of_all_methods_leave_no_regret():
    of, _ = random_league(3, splits=1)
    perfect = [one.scores[:, :, None] for one in of.sets]
    everyone = next(o for o in outcomes(of, perfect) if o.name.startswith("run all"))
    assert everyone.regret.value == pytest.approx(0.0, abs=1e-12)
    assert everyone.seconds == 15.0


def test_constants_that_are_there_are_beside_the_board():
    of, _ = random_league(4)
    found = {o.name: o for o in outcomes(of)}
    assert {"always AdamW", "always the ensemble"} < found.keys()
    assert "always gradient boosting" not in found
    u = of.shares.u
    assert found["always AdamW"].regret.value == pytest.approx((u.max(0) - u[0]).mean())
    smallest = min(o.adjusted_p for o in found.values() if o.adjusted_p is not None)
    assert 0 < smallest <= 1


def test_the_noise_floor_is_the_regret_of_hindsight_on_other_splits():
    one = SetScores("a", np.array([[1.0, 0.0], [0.0, 1.0]]), np.zeros(2))
    of = league(["m0", "m1"], [one] * 8, 0.05, {})
    assert noise_floor(of) == pytest.approx(1.0)  # gap .5: the best of one split has 0 on the other


def test_a_rule_finds_the_split_of_two_kinds_of_tables():
    u = np.zeros((2, 14))
    u[0, :7] = u[1, 7:] = 1.0
    facts = {"noise": np.arange(14) % 3.0, "rows": np.arange(14.0)}
    found = rules(u, facts, np.ones((1, 14)))
    assert found.at_most[0].tolist() == [True] * 7 + [False] * 7
    assert (found.low[0], found.high[0]) == (0, 1)


def test_a_rule_needs_five_sets_on_each_side():
    u = np.zeros((2, 14))
    u[0, :3] = u[1, 3:] = 1.0
    found = rules(u, {"rows": np.arange(14.0)}, np.ones((1, 14)))
    assert found.at_most[0].sum() >= 5


def test_a_rule_is_used_only_where_it_proves_itself():
    rng = np.random.default_rng(0)
    useful = np.zeros((2, 16))
    useful[0, :8] = useful[1, 8:] = 1.0
    once = np.ones((1, 16))
    regret, used = nested_regrets(useful, {"rows": np.arange(16.0)}, once)
    assert used[0] == 1.0
    assert regret[0] == 1 / 16  # without the last of the low ones, it lies above the threshold
    same = np.vstack([np.full(16, 0.9), rng.uniform(0, 0.2, 16)])
    regret, used = nested_regrets(same, {"rows": np.arange(16.0)}, once)
    assert (regret[0], used[0]) == (0.0, 0.0)


@pytest.mark.long
def test_intervals_with_the_selection_redone_cover_the_regret_of_advice_on_new_sets():
    """A ladder of methods: the mean regret of many leagues is the truth for each of them."""
    rng = np.random.default_rng(0)
    level, weights = np.linspace(0.9, 0.4, 8)[:, None], redraws(20, 300)
    found = []
    for _ in range(150):
        of = on_one_scale(np.clip(level + 0.2 * rng.normal(size=(8, 20)), 0, 1))
        found.append(interval(regrets(of, first_of(of), weights)))
    truth = np.mean([one.value for one in found])
    covered = np.mean([one.low <= truth <= one.high for one in found])
    assert covered >= 0.9
    t = [abs(one.value - truth) for one in found]
    assert np.mean(t) < 0.05


def test_of_methods_whose_sums_only_rounding_tells_apart_the_cheaper_is_advised():
    """Counted in tenths, which are exact; as sums of floating point numbers one is larger."""
    tenths = np.array([[1, 5, 1, 3, 1, 6, 8, 3, 0], [3, 5, 6, 1, 1, 8, 1, 3, 10]])
    of = with_shares(tenths / 10, tenths / 10, {"m0": 1.0, "m1": 2.0})
    assert tenths[0, :8].sum() == tenths[1, :8].sum()
    expected = 0
    for g in range(9):
        left = np.delete(tenths, g, axis=1).sum(1)
        expected += tenths[:, g].max() - tenths[int(left[1] > left[0]), g]
    found = regrets(of, first_of(of), np.ones((1, 9), int))[-1]
    assert found == pytest.approx(expected / 90)


def test_sums_that_only_rounding_tells_apart_are_a_tie_for_the_first():
    """Else the processor, by the order in which it adds, would choose among equal advice."""
    thirds = np.array([0.1, 0.2, 0.3])
    one, other = (thirds[0] + thirds[1]) + thirds[2], thirds[0] + (thirds[1] + thirds[2])
    assert one != other
    assert first_largest(np.array([[one, other], [other, one], [0.0, one]])).tolist() == [0, 0, 1]
    assert first_largest(np.full((1, 2), -np.inf)).tolist() == [0]
