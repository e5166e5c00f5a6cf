"""Counts of verdicts on printed numbers, and the clause about them."""

import dataclasses

import pytest

from bnnbench.reports.papers.summaries import Summary, clauses, deciding, merged, summaries, summary
from bnnbench.reports.papers.verdicts import KINDS, judge
from tests.reports.papers.test_verdicts import compared


def test_a_summary_counts_by_paper():
    judged = [judge(compared(mean)) for mean in (3.0, 3.7, 4.2, 9.0)]
    judged += [judge(compared(3.0, differs=("x",), paper="003"))]
    first, second = summaries(judged)
    assert (first.paper, second.paper) == ("003", "004")
    assert list(first.counts.values()) == [0, 0, 0, 0, 0, 1]
    assert list(second.counts.values()) == [2, 1, 1, 0, 0, 0]
    assert second.closely == 1
    assert second.by_chance == pytest.approx(4 * 0.0455, abs=1e-4)
    assert clauses(judged) == (
        "2 of 4 comparable printed numbers agree with ours within 2 standard errors (1 closely), "
        "1 is more than 5 away (papers 004 and 003)",
    )


def test_each_number_is_counted_once_by_the_profile_nearest_to_its_protocol():
    far, near = (
        dataclasses.replace(compared(mean, table="1"), profile=profile)
        for mean, profile in ((3.0, "uci/other"), (9.0, "uci/paper"))
    )
    elsewhere = compared(3.0, dataset="yacht")
    found = deciding([judge(far), judge(near), judge(elsewhere)])
    assert [one.comparison for one in found] == [near, elsewhere]


def test_summaries_of_several_suites_add_up():
    one = summary([judge(compared(mean)) for mean in (3.0, 9.0)], "004")
    other = summary([judge(compared(3.7))], "003")
    third, fourth = merged([one, other, one])
    assert (third, fourth.paper) == (other, "004")
    assert fourth.counts == {kind: 2 * one.counts[kind] for kind in KINDS}
    assert (fourth.closely, fourth.compared) == (2, 4)


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ((0, 0, 0, 0, 3, 4), ""),
        ((1, 0, 0, 0, 0, 0), "the only comparable printed number agrees with ours"),
        ((2, 0, 0, 0, 0, 0), "both comparable printed numbers agree with ours"),
        ((7, 0, 0, 0, 0, 1), "all 7 comparable printed numbers agree with ours"),
        ((0, 1, 0, 0, 0, 0), "the only comparable printed number differs from ours"),
        ((0, 0, 0, 1, 0, 0), "the only comparable printed number differs from ours under another"),
        ((1, 2, 0, 0, 1, 0), "1 of 3 comparable printed numbers agrees with ours"),
        ((2, 0, 3, 0, 0, 0), "2 of 5 comparable printed numbers agree with ours"),
        ((2, 1, 0, 4, 0, 0), "2 of 7 comparable printed numbers agree with ours"),
    ],
)
def test_the_clause_is_grammatical(counts, text):
    found = Summary("004", dict(zip(KINDS, counts, strict=True)))
    assert found.clause.startswith(text)
    assert ("3 are more than 5 away" in found.clause) == (counts[2] == 3)
    assert ("4 differ under another protocol" in found.clause) == (counts[3] == 4)
    assert bool(found.clause) == bool(text)


def test_nothing_printed_has_no_summary():
    assert summaries([]) == ()
    assert clauses([]) == ()
    assert summary([]).compared == 0
