"""Printed numbers of a method compared with ours, with the verdicts of the papers' pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bnnbench.reports.pages.site.paper_pages import number
from bnnbench.reports.pages.site.printed_counts import HEADS
from bnnbench.reports.papers.coverage import Printed, PrintedTable
from bnnbench.reports.papers.summaries import summary
from bnnbench.reports.papers.verdicts import Judgement, Kind
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import typographic
from bnnbench.reports.style.words import joined

APART: tuple[Kind, ...] = ("cannot be met", "not comparable")
"""Kinds of verdicts that are counted apart from comparable numbers."""
CLASSES: Mapping[Kind, str] = {"agrees": "agrees", "differs": "differs", "differs much": "differs"}
"""Kind of a verdict → its CSS class; "open" for an excused one."""


@dataclass(frozen=True)
class Line:
    """A printed number and ours."""

    paper: str
    table: str
    score: str
    """The metric, and the data it was measured on."""
    printed: str
    ours: str
    verdict: str
    kind: str
    """The verdict, used as a CSS class."""


@dataclass(frozen=True)
class PrintedAndOurs:
    """All printed numbers of a method that have a counterpart of ours."""

    sentences: Sequence[str]
    """One sentence per paper."""
    lines: Sequence[Line]


def printed_and_ours(method: str, tables: Sequence[PrintedTable]) -> PrintedAndOurs:
    """Return the printed numbers with a counterpart among our runs of a method."""
    beside_ours = [
        (table, printed, printed.judgement)
        for table in tables
        for printed in table.numbers
        if printed.judgement and printed.judgement.comparison.method == method
    ]
    of_papers: dict[str, list[Judgement]] = {}
    for table, _, judgement in beside_ours:
        of_papers.setdefault(table.paper, []).append(judgement)
    sentences = [_sentence(paper, of) for paper, of in of_papers.items()]
    return PrintedAndOurs(sentences, [_line(*item) for item in beside_ours])


def _sentence(paper: str, judgements: Sequence[Judgement]) -> str:
    counted = summary(judgements, paper)
    clauses = [
        counted.clause,
        *(f"{n} {HEADS[kind]}" for kind in APART if (n := counted.counts[kind])),
    ]
    return f"{labels.paper(paper)}: {joined([clause for clause in clauses if clause])}."


def _line(table: PrintedTable, printed: Printed, judgement: Judgement) -> Line:
    published, comparison = printed.published, judgement.comparison
    on = ", ".join(filter(None, (comparison.dataset, comparison.condition_title)))
    spread = "" if published.spread is None else f" ± {number(published, published.spread, 1)}"
    error = comparison.standard_error
    plus = "" if error is None else f" ± {number(published, error, 1)}"
    z = "" if judgement.z is None else f" ({typographic(f'{judgement.z:.1f}')} standard errors)"
    verdict = HEADS[judgement.kind] if judgement.kind == "not comparable" else judgement.phrase
    return Line(
        table.paper,
        table.title,
        f"{labels.sentence(labels.in_text(published.metric))}, {on}",
        f"{number(published, published.value)}{spread}",
        f"{number(published, comparison.mean, 1)}{plus}",
        f"{verdict}{z}",
        CLASSES.get(judgement.kind, "open"),
    )
