"""Printed numbers and ours: which agree, which differ, and which cannot be compared."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

from scipy import special

from bnnbench.reports.papers.entries import departures, place
from bnnbench.reports.papers.protocols import Protocol, declared
from bnnbench.reports.papers.reproduction import Comparison, Reproduction
from bnnbench.reports.papers.sampling_error import least_error, unreachable
from bnnbench.reports.papers.together import TOGETHER

Kind = Literal["agrees", "differs", "differs much", "departs", "cannot be met", "not comparable"]
"""Numbers differ, or differ much, although our runs follow the paper's protocol as far as it is
stated. If they differ and our protocol departs from the paper's, that is no failed reproduction. A
number that the paper's own protocol cannot reach cannot be met."""
KINDS: tuple[Kind, ...] = get_args(Kind)
COMPARED: tuple[Kind, ...] = ("agrees", "differs", "differs much", "departs")
EXCUSED: tuple[Kind, ...] = ("departs", "cannot be met", "not comparable")
"""The kinds of verdicts that neither confirm nor contradict a paper; each gives its reason."""
PHRASES: Mapping[Kind, str] = {"departs": "differs, protocol departs"}
"""The kind of a verdict → the verdict in words, if different."""
NEAR, FAR = 2.0, 5.0
"""Numbers agree up to the first and differ much beyond the second, in standard errors."""
LEVEL = float(2 * special.ndtr(-NEAR))
"""The probability that a number differs by chance, if its deviate is standard normal."""
NORMAL_95 = 1.959964
"""Half the width of a 95 % interval, in standard errors."""
READ_AS_STD: Mapping[str, str] = {
    "002": "± is read as a standard deviation, which the paper does not say: over as many splits "
    "the RMSE of ours has deviations of that size, less than a quarter of what a standard error "
    "would imply"
}
"""paper → why its unexplained ± over a known number of runs is a standard deviation."""
ONE_RUN: Mapping[str, str] = {
    "001": "the printed number is of one network, as all of the paper's experiments use a fixed "
    "seed; its standard error is the spread of ours"
}
"""paper → why a number printed without a spread is from one run."""

ONE_DATA_SET = (
    "the printed number is of networks on one data set; its standard error is the spread of ours "
    "over data sets"
)


@dataclass(frozen=True)
class Judgement:
    """One printed number compared with ours."""

    comparison: Comparison
    kind: Kind
    z: float | None
    """The difference in standard errors, as a normal deviate. If the printed spread has several
    possible readings, the reading that contradicts the verdict most counts. None if the numbers
    cannot be compared."""
    reasons: tuple[str, ...]
    """The reasons why they cannot be compared or met, or the reading of the printed spread."""

    @cached_property
    def departures(self) -> dict[str, str]:
        """Our departures from the protocol of the number, by the suite's text; empty for none."""
        return departures(self.comparison.published, self.comparison.profile)

    @property
    def excuses(self) -> tuple[str, ...]:
        """The reasons for an excused verdict; () for another."""
        if self.kind not in EXCUSED:
            return ()
        return tuple(self.departures.values()) if self.kind == "departs" else self.reasons[:1]

    @property
    def precedence(self) -> tuple[bool, int, int, float]:
        """A key by which the first of several verdicts on one printed number decides.

        Of several profiles, the nearest to the protocol of the number decides (`followed.place`)
        among those whose runs can be compared with it. Within one profile, the counterpart with the
        most repeats decides, then that which differs most.
        """
        ours = self.comparison
        nearness = place(ours.published, ours.profile)
        return not ours.comparable, nearness, -ours.repeats, -abs(self.z or 0.0)

    @property
    def phrase(self) -> str:
        """The verdict in words."""
        return PHRASES.get(self.kind, self.kind)

    @property
    def much(self) -> bool:
        """Whether the numbers differ much, whatever the protocol."""
        return self.z is not None and abs(self.z) > FAR

    @property
    def closely(self) -> bool:
        """True if the numbers agree closely, not only within a large standard error."""
        return self.kind == "agrees" and self.comparison.close

    @property
    def level(self) -> float:
        """The probability of a difference by chance; 0 for a number without a test."""
        return LEVEL if self.kind in COMPARED else 0.0


@dataclass(frozen=True)
class Declaration:
    """The protocol of some tables, in the paper and in our runs."""

    paper: str
    tables: tuple[str, ...]
    theirs: Protocol
    ours: Protocol | None

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """The name of each entry, with the paper's text and ours."""
        entries = self.ours.entries if self.ours else {}
        return [(name, text, entries.get(name, "")) for name, text in self.theirs.entries.items()]


def judge(comparison: Comparison) -> Judgement:
    """Return the verdict on a printed number.

    $$ t = (ours - theirs) / sqrt(se_ours² + se_theirs² + r²/12) $$

    with r the last printed place. z has the same tail probability in the normal distribution as t
    in Student's with the degrees of freedom of Welch (1947): a standard error of three seeds is
    itself uncertain. A printed spread is a standard error, a standard deviation (divided by the
    root of the repeats) or half the width of a 95 % interval. If neither the paper nor any other
    evidence (`READ_AS_STD`, `ONE_RUN`) says which, or the number of runs is not stated, a verdict
    is given only if it holds for both the smallest and the largest standard error that the spread
    may mean.
    """
    if comparison.differs:
        return Judgement(comparison, "not comparable", None, comparison.differs)
    if not comparison.comparable:
        reason = (
            "one run of ours has no standard error"
            if comparison.runs == 1
            else ("our mean has no standard error")
        )
        return Judgement(comparison, "not comparable", None, (reason,))
    least, largest, how = _standard_errors(comparison)
    strict, mild = _z(comparison, least), _z(comparison, largest)
    if abs(strict) <= NEAR:
        return Judgement(comparison, "agrees", strict, how)
    if abs(mild) > NEAR:
        return _differing(comparison, mild, how)
    unclear = f"z is {_number(mild)} or {_number(strict)}, depending on what the spread means"
    return Judgement(comparison, "not comparable", None, (*how, unclear))


def _differing(comparison: Comparison, z: float, how: tuple[str, ...]) -> Judgement:
    """Return the verdict on numbers that differ, with the excuse if there is one."""
    if why := _beyond_reach(comparison):
        return Judgement(comparison, "cannot be met", z, (why, *how))
    if departures(comparison.published, comparison.profile):
        return Judgement(comparison, "departs", z, how)
    return Judgement(comparison, "differs much" if abs(z) > FAR else "differs", z, how)


def _beyond_reach(comparison: Comparison) -> str:
    """Return why even an exact method would differ from the printed number; "" if it need not."""
    least = least_error(comparison.published)
    if least is None:
        return ""
    _, largest, _ = _standard_errors(comparison)
    exact = _z(replace(comparison, mean=least), largest)
    return unreachable(comparison.published) if exact > NEAR else ""


def _standard_errors(comparison: Comparison) -> tuple[float, float, tuple[str, ...]]:
    """Return the smallest and the largest standard error of a printed mean, and its reading."""
    printed = comparison.published
    spread, repeats, paper = printed.spread, printed.repeats, printed.paper
    if printed.spread_kind == "none" or spread is None:
        assert comparison.std is not None
        if printed.metric in TOGETHER:
            return comparison.std, comparison.std, (ONE_DATA_SET,)
        if paper in ONE_RUN:
            return comparison.std, comparison.std, (ONE_RUN[paper],)
        how = "the paper prints no spread: the number may be of one run, with the spread of ours"
        return 0.0, comparison.std, (how,)
    # A spread printed as 0 may be up to half a unit of the last place.
    spread = spread or 10.0**-printed.decimals / 2
    if printed.spread_kind == "standard_error":
        return spread, spread, ()
    if printed.spread_kind == "interval":
        return spread / NORMAL_95, spread / NORMAL_95, ()
    if not repeats:
        how = "the number of runs is not stated: the standard error is at most the printed ±"
        return 0.0, spread, (how,)
    of_mean = spread / math.sqrt(repeats)
    if printed.spread_kind == "std":
        return of_mean, of_mean, ()
    if paper in READ_AS_STD:
        return of_mean, of_mean, (READ_AS_STD[paper],)
    how = "± may be a standard error or a standard deviation, which the paper does not say"
    return of_mean, spread, (how,)


def _z(comparison: Comparison, theirs: float) -> float:
    assert comparison.standard_error is not None
    rounding = 10.0**-comparison.decimals / math.sqrt(12)
    error = math.hypot(comparison.standard_error, theirs, rounding)
    t = comparison.difference / error
    uncertain = comparison.standard_error**4 / (comparison.repeats - 1)
    if comparison.published.spread is None:  # theirs is computed from our repeats, too
        uncertain = (comparison.standard_error**2 + theirs**2) ** 2 / (comparison.repeats - 1)
    elif comparison.published.repeats and comparison.published.repeats > 1:
        uncertain += theirs**4 / (comparison.published.repeats - 1)
    if uncertain == 0:
        return t
    z = -special.ndtri(special.stdtr(error**4 / uncertain, -abs(t)))
    return math.copysign(min(z, abs(t)), t)  # far in the tail the probability is 0, and z near t


def judgements(reproductions: Iterable[Reproduction]) -> dict[Comparison, Judgement]:
    """Return comparison → verdict, for all printed numbers of a suite."""
    return {c: judge(c) for reproduction in reproductions for c in reproduction.comparisons}


def declarations(reproductions: Iterable[Reproduction]) -> tuple[Declaration, ...]:
    """Return the protocols of the printed tables, together with our own."""
    firsts: dict[tuple[str, str], Comparison] = {}
    for reproduction in reproductions:
        for comparison in reproduction.comparisons:
            firsts.setdefault((reproduction.paper, reproduction.table), comparison)
    alike: dict[tuple[str, Protocol, Protocol | None], list[str]] = {}
    for (paper, number), first in firsts.items():
        if theirs := declared(first.published):
            alike.setdefault((paper, theirs.protocol, first.protocol), []).append(number)
    return tuple(
        Declaration(paper, tuple(tables), theirs, ours)
        for (paper, theirs, ours), tables in alike.items()
    )


def _number(z: float) -> str:
    return f"{z:.1f}".replace("-", "−")
