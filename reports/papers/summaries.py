"""Counts of verdicts on printed numbers, and the clause about them in a conclusion."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bnnbench.reports.papers.published import Published
from bnnbench.reports.papers.verdicts import COMPARED, FAR, KINDS, LEVEL, NEAR, Judgement, Kind
from bnnbench.reports.style.words import joined


@dataclass(frozen=True)
class Summary:
    """Counts of verdicts on the numbers of one paper, or of all papers."""

    paper: str
    counts: Mapping[Kind, int]
    closely: int = 0
    """The number of close agreements."""

    @property
    def compared(self) -> int:
        """The number of comparable numbers."""
        return sum(self.counts[kind] for kind in COMPARED)

    @property
    def by_chance(self) -> float:
        """The expected number of differences by chance (`PrintedTable.by_chance`)."""
        return LEVEL * self.compared

    @property
    def clause(self) -> str:
        """A clause such as "17 of 20 comparable printed numbers agree with ours"."""
        if not self.compared:
            return ""
        return self._agreement + self._closeness + self._differences

    @property
    def _agreement(self) -> str:
        agreeing, within = self.counts["agrees"], f"with ours within {NEAR:.0f} standard errors"
        if self.compared == 1:
            says = f"agrees {within}" if agreeing else "differs from ours"
            elsewhere = " under another protocol" if self.counts["departs"] else ""
            return f"the only comparable printed number {says}{elsewhere}"
        if agreeing == self.compared:
            every = "both" if agreeing == 2 else f"all {agreeing}"
            return f"{every} comparable printed numbers agree {within}"
        verb = "agrees" if agreeing == 1 else "agree"
        return f"{agreeing or 'none'} of {self.compared} comparable printed numbers {verb} {within}"

    @property
    def _closeness(self) -> str:
        agreeing = self.counts["agrees"]
        if agreeing <= 1 or self.closely == agreeing:
            return ""
        return f" ({self.closely or 'none'} closely)"

    @property
    def _differences(self) -> str:
        much, departing = self.counts["differs much"], self.counts["departs"]
        texts = []
        if departing and self.compared > 1:
            verb = "differs" if departing == 1 else "differ"
            texts.append(f", {departing} {verb} under another protocol")
        if much:
            texts.append(f", {much} {'is' if much == 1 else 'are'} more than {FAR:.0f} away")
        return "".join(texts)


def deciding(judged: Iterable[Judgement]) -> list[Judgement]:
    """Return one verdict for each printed number, that which decides (`Judgement.precedence`)."""
    by_number: dict[Published, list[Judgement]] = {}
    for judgement in judged:
        by_number.setdefault(judgement.comparison.published, []).append(judgement)
    return [min(group, key=lambda one: one.precedence) for group in by_number.values()]


def summaries(judged: Iterable[Judgement]) -> tuple[Summary, ...]:
    """Return the counts of verdicts, paper by paper."""
    by_paper: dict[str, list[Judgement]] = {}
    for judgement in judged:
        by_paper.setdefault(judgement.comparison.published.paper, []).append(judgement)
    return tuple(summary(group, paper) for paper, group in sorted(by_paper.items()))


def summary(judged: Iterable[Judgement], paper: str = "") -> Summary:
    """Return the counts of these verdicts."""
    judged = list(judged)
    counts = Counter(judgement.kind for judgement in judged)
    return Summary(paper, {k: counts[k] for k in KINDS}, sum(j.closely for j in judged))


def merged(parts: Iterable[Summary]) -> list[Summary]:
    """Return the sums of counts, paper by paper."""
    by_paper: dict[str, list[Summary]] = {}
    for part in parts:
        by_paper.setdefault(part.paper, []).append(part)
    return [
        Summary(
            paper,
            {kind: sum(one.counts[kind] for one in group) for kind in KINDS},
            sum(one.closely for one in group),
        )
        for paper, group in sorted(by_paper.items())
    ]


def clauses(judged: Sequence[Judgement]) -> tuple[str, ...]:
    """Return the clause about printed numbers in a suite's conclusion, if there is one."""
    text = summary(judged).clause
    papers = list(dict.fromkeys(judgement.comparison.published.paper for judgement in judged))
    named = f" (paper{'s' * (len(papers) > 1)} {joined(papers)})"
    return (text + named,) if text else ()
