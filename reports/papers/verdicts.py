"""Printed numbers and ours: which agree, which differ, and which cannot be compared."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from scipy import special

from bnnbench.reports.papers.protocols import Protocol, declared
from bnnbench.reports.papers.reproduction import Comparison, Reproduction
from bnnbench.reports.papers.together import TOGETHER
from bnnbench.reports.style.words import joined

Kind = Literal["agrees", "differs", "differs much", "not comparable"]
KINDS: tuple[Kind, ...] = ("agrees", "differs", "differs much", "not comparable")
NEAR, FAR = 2.0, 5.0
"""Numbers agree up to the first and differ much beyond the second, in standard errors."""
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
    """The reasons why they cannot be compared, or the reading of the printed spread."""


@dataclass(frozen=True)
class Summary:
    """Counts of verdicts on the numbers of one paper, or of all papers."""

    paper: str
    counts: Mapping[Kind, int]

    @property
    def compared(self) -> int:
        """The number of comparable numbers."""
        return sum(self.counts.values()) - self.counts["not comparable"]

    @property
    def clause(self) -> str:
        """A clause such as "17 of 20 comparable printed numbers agree with ours"."""
        if not self.compared:
            return ""
        agreeing, within = self.counts["agrees"], f"with ours within {NEAR:.0f} standard errors"
        if self.compared == 1:
            says = f"agrees {within}" if agreeing else "differs from ours"
            text = f"the only comparable printed number {says}"
        elif agreeing == self.compared:
            every = "both" if agreeing == 2 else f"all {agreeing}"
            text = f"{every} comparable printed numbers agree {within}"
        else:
            verb = "agrees" if agreeing == 1 else "agree"
            of = f"{agreeing or 'none'} of {self.compared} comparable printed numbers"
            text = f"{of} {verb} {within}"
        if much := self.counts["differs much"]:
            text += f", {much} {'is' if much == 1 else 'are'} more than {FAR:.0f} away"
        return text


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
    if comparison.standard_error is None or comparison.std is None:
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
        kind: Kind = "differs much" if abs(mild) > FAR else "differs"
        return Judgement(comparison, kind, mild, how)
    unclear = f"z is {_number(mild)} or {_number(strict)}, depending on what the spread means"
    return Judgement(comparison, "not comparable", None, (*how, unclear))


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


def summaries(judged: Iterable[Judgement]) -> tuple[Summary, ...]:
    """Return the counts of verdicts, paper by paper."""
    by_paper: dict[str, list[Judgement]] = {}
    for judgement in judged:
        by_paper.setdefault(judgement.comparison.published.paper, []).append(judgement)
    return tuple(summary(group, paper) for paper, group in sorted(by_paper.items()))


def summary(judged: Iterable[Judgement], paper: str = "") -> Summary:
    """Return the counts of these verdicts."""
    kinds = [judgement.kind for judgement in judged]
    return Summary(paper, {kind: kinds.count(kind) for kind in KINDS})


def clauses(judged: Sequence[Judgement]) -> tuple[str, ...]:
    """Return the clause about printed numbers in a suite's conclusion, if there is one."""
    text = summary(judged).clause
    papers = list(dict.fromkeys(judgement.comparison.published.paper for judgement in judged))
    named = f" (paper{'s' * (len(papers) > 1)} {joined(papers)})"
    return (text + named,) if text else ()


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
