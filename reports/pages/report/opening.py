"""The figure with which the page of a suite opens: the most telling one that its runs allow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.figures.forests import ALL, Forest, of_ranks, of_scores, of_verdict
from bnnbench.reports.judge.answers import Answer
from bnnbench.reports.judge.over_sets.verdict import Verdict
from bnnbench.reports.sections.base import Gallery, Section

MOST = 3
"""Maximum number of figures side by side."""
MOST_BYTES = 120_000
"""Figures take at most this much of a page."""
FEW = 8
"""Rows of a figure of a profile among others."""


@dataclass(frozen=True)
class Opening:
    """The opening figure of a profile: what its suite is about, or its methods in order."""

    sections: Sequence[Section]
    answer: Answer

    @cached_property
    def gallery(self) -> Gallery | None:
        """The first figures on the suite's own subject."""
        return next((g for s in self.sections if s.of_suites for g in s.galleries), None)

    @cached_property
    def drawings(self) -> tuple[Drawing, ...]:
        """The first of these figures, as many as a page has room for."""
        few: list[Drawing] = []
        listed = self.gallery.drawings if self.gallery else ()
        for drawing in listed[: 1 if self.gallery and self.gallery.wide else MOST]:
            if sum(len(one.svg) for one in (*few, drawing)) <= MOST_BYTES:
                few.append(drawing.again("opening"))
        return tuple(few)

    @property
    def coloured(self) -> list[str]:
        """The coloured methods of the figures."""
        return list(dict.fromkeys(m for drawing in self.drawings for m in drawing.coloured))

    @cached_property
    def forests(self) -> tuple[Forest, ...]:
        """The methods over all data sets, or on the first ones; empty beside other figures."""
        return () if self.drawings else tuple(_forests(self.answer, ALL))

    @cached_property
    def short(self) -> tuple[Forest, ...]:
        """The best methods only, over all data sets or on the first one."""
        return tuple(_forests(self.answer, FEW))[:1]


def _forests(answer: Answer, most: int) -> Iterator[Forest]:
    """Yield the decision over data sets, or the scores on the first few."""
    if not answer.main:
        return
    first = answer.main[0]
    over = answer.over_sets
    if over:
        drawn = (
            of_verdict(over, first.name, most)
            if isinstance(over, Verdict)
            else of_ranks(over, most)
        )
        yield from [drawn] if drawn else []
        return
    results = [result for result in answer.main if result.metric == first.metric]
    drawn_each = (of_scores(r, r.benchmark.title, most) for r in results[:MOST])
    yield from (forest for forest in drawn_each if forest)
