"""Printed numbers and ours: which agree, which differ, and which cannot be compared."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from scipy import special

from bnnbench.reports.papers.protocols import Protocol, declared
from bnnbench.reports.papers.reproduction import Comparison, Reproduction
from bnnbench.reports.style.words import joined

Kind = Literal["agrees", "differs", "differs much", "not comparable"]
KINDS: tuple[Kind, ...] = ("agrees", "differs", "differs much", "not comparable")
NEAR, FAR = 2.0, 5.0
"""Standard errors up to which numbers agree, and beyond which they differ much."""
NORMAL_95 = 1.959964
"""Half an interval of 95 % in standard errors."""


@dataclass(frozen=True)
class Judgement:
    """One printed number beside ours."""

    comparison: Comparison
    kind: Kind
    z: float | None
    """Difference in standard errors, as a normal deviate; where the printed spread can be read in
    several ways, by the one that speaks most against the verdict. None where numbers do not
    compare."""
    reasons: tuple[str, ...]
    """Why they do not compare, or how the printed spread was read."""


@dataclass(frozen=True)
class Summary:
    """How many numbers of a paper, or of all, agree."""

    paper: str
    counts: Mapping[Kind, int]

    @property
    def compared(self) -> int:
        """How many numbers compare."""
        return sum(self.counts.values()) - self.counts["not comparable"]

    @property
    def clause(self) -> str:
        """What there is to say, such as "17 of 20 printed numbers agree with ours"."""
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
    """How the numbers of some tables were made, by the paper and here."""

    paper: str
    tables: tuple[str, ...]
    theirs: Protocol
    ours: Protocol | None

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """Name, the paper's and ours."""
        mine = self.ours.entries if self.ours else {}
        return [(name, text, mine.get(name, "")) for name, text in self.theirs.entries.items()]


def judge(comparison: Comparison) -> Judgement:
    """Return the verdict on a printed number.

    $$ t = (ours - theirs) / sqrt(se_ours² + se_theirs² + r²/12) $$

    with r the last printed place. z is as far out in the normal distribution as t is in
    Student's, with the degrees of freedom of Welch (1947): a standard error of three seeds is
    itself uncertain. A printed spread is a standard error, a standard deviation
    (divided by the root of the repeats) or half an interval of 95 %. Where the paper does not
    say which, or prints none, the verdict holds for the least and the largest standard error
    that it may stand for, or there is none.
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
    found = _standard_errors(comparison)
    if isinstance(found, str):
        return Judgement(comparison, "not comparable", None, (found,))
    least, largest, how = found
    strict, mild = _z(comparison, least), _z(comparison, largest)
    if abs(strict) <= NEAR:
        return Judgement(comparison, "agrees", strict, how)
    if abs(mild) > NEAR:
        kind: Kind = "differs much" if abs(mild) > FAR else "differs"
        return Judgement(comparison, kind, mild, how)
    unclear = f"z is {_number(mild)} or {_number(strict)}, depending on what the spread means"
    return Judgement(comparison, "not comparable", None, (*how, unclear))


def _standard_errors(of: Comparison) -> tuple[float, float, tuple[str, ...]] | str:
    """Return the least and the largest standard error of a printed mean, and how it was read."""
    printed = of.published
    spread, repeats = printed.spread, printed.repeats
    if printed.spread_kind == "none" or spread is None:
        assert of.std is not None
        how = "the paper prints no spread: the number may be of one run, which spreads as ours"
        return 0.0, of.std, (how,)
    # A spread that is printed as 0 may be half a unit of the last place.
    spread = spread or 10.0**-printed.decimals / 2
    if printed.spread_kind == "standard_error":
        return spread, spread, ()
    if printed.spread_kind == "interval":
        return spread / NORMAL_95, spread / NORMAL_95, ()
    if not repeats:
        kind = printed.spread_kind.replace("_", " ")
        return f"the printed spread is {kind}, and of how many runs is not stated"
    of_mean = spread / math.sqrt(repeats)
    if printed.spread_kind == "std":
        return of_mean, of_mean, ()
    how = "± may be a standard error or a standard deviation, which the paper does not say"
    return of_mean, spread, (how,)


def _z(of: Comparison, theirs: float) -> float:
    assert of.standard_error is not None
    rounding = 10.0**-of.decimals / math.sqrt(12)
    error = math.hypot(of.standard_error, theirs, rounding)
    t = of.difference / error
    uncertain = of.standard_error**4 / (of.repeats - 1)
    if of.published.spread is None:  # theirs is taken from our repeats, too
        uncertain = (of.standard_error**2 + theirs**2) ** 2 / (of.repeats - 1)
    elif of.published.repeats and of.published.repeats > 1:
        uncertain += theirs**4 / (of.published.repeats - 1)
    if uncertain == 0:
        return t
    z = -special.ndtri(special.stdtr(error**4 / uncertain, -abs(t)))
    return math.copysign(min(z, abs(t)), t)  # far out the probability is 0, and t near z


def judgements(found: Iterable[Reproduction]) -> dict[Comparison, Judgement]:
    """Return comparison → verdict, for all printed numbers of a suite."""
    return {c: judge(c) for reproduction in found for c in reproduction.comparisons}


def summaries(judged: Iterable[Judgement]) -> tuple[Summary, ...]:
    """Return how many numbers agree, paper by paper."""
    by_paper: dict[str, list[Judgement]] = {}
    for one in judged:
        by_paper.setdefault(one.comparison.published.paper, []).append(one)
    return tuple(summary(own, paper) for paper, own in sorted(by_paper.items()))


def summary(judged: Iterable[Judgement], paper: str = "") -> Summary:
    """Return how many of these numbers agree."""
    kinds = [one.kind for one in judged]
    return Summary(paper, {kind: kinds.count(kind) for kind in KINDS})


def clauses(judged: Sequence[Judgement]) -> tuple[str, ...]:
    """Return what the answer of a suite says about printed numbers: one clause, or none."""
    text = summary(judged).clause
    papers = list(dict.fromkeys(one.comparison.published.paper for one in judged))
    named = f" (paper{'s' * (len(papers) > 1)} {joined(papers)})"
    return (text + named,) if text else ()


def declarations(found: Iterable[Reproduction]) -> tuple[Declaration, ...]:
    """Return the protocols of the tables that printed numbers are of, beside our own."""
    firsts: dict[tuple[str, str], Comparison] = {}
    for reproduction in found:
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
