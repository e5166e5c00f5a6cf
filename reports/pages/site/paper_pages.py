"""The page of a source paper: each printed number with ours, in the paper's own tables."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bnnbench.reports.pages.drilldown.run_pages import RunPages
from bnnbench.reports.pages.layout import page
from bnnbench.reports.pages.site.logistic_unit import gallery_of_logistic_unit
from bnnbench.reports.pages.site.printed_counts import (
    COLUMNS,
    HEADS,
    count,
    counts_of,
    coverage_sentence,
    reasons,
)
from bnnbench.reports.pages.site.printed_curves import Curve, curves
from bnnbench.reports.pages.site.units import gallery_of_units
from bnnbench.reports.papers.arranged import arranged
from bnnbench.reports.papers.coverage import Printed, PrintedTable
from bnnbench.reports.papers.published import Published
from bnnbench.reports.papers.verdicts import EXCUSED, FAR, NEAR, Judgement, Kind
from bnnbench.reports.sections.base import Gallery
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import typographic
from bnnbench.reports.style.words import counted
from bnnbench.suites.departures import AWAITED

GALLERIES: Mapping[str, Sequence[Callable[[], Gallery]]] = {
    "001": (gallery_of_units, gallery_of_logistic_unit)
}
"""Paper → our figures that need no run."""

CLASSES: Mapping[Kind, str] = {"differs much": "much"}
"""The kind of a verdict → its CSS class, if different."""

SPREADS = {
    "standard_error": "standard error",
    "std": "standard deviation",
    "interval": "half of a 95 % interval",
    "none": "",
}


@dataclass(frozen=True)
class PaperCell:
    """A printed number and ours."""

    printed: str
    ours: str
    kind: str
    """The verdict as a CSS class: "agrees", "differs", "much", "excused"; "" if not run."""
    sign: str
    """The sign of the difference (`Printed.sign`)."""
    number: int | None
    """Its place among the page's explanations; None if it was not run."""
    reason: str = ""
    """The reason why it was not run, in a table that awaits its runs."""


@dataclass(frozen=True)
class Grid:
    """A table arranged as in the paper: conditions in rows, methods or layers in columns."""

    title: str
    caption: str
    columns: Sequence[str]
    blocks: Mapping[str, Sequence[tuple[str, Sequence[PaperCell | None]]]]
    """Blocks: heading ("" for a single block) → distinguishing text of a row, and its cells."""
    departures: Sequence[str]
    """Our deviations from the paper's protocol."""


def paper_page(
    paper: str,
    address: str,
    tables: Sequence[PrintedTable],
    runs: RunPages,
    common: dict[str, Any],
) -> str:
    """Return the page of a paper, from its printed tables."""
    texts: list[list[str]] = []
    grids = [
        _grid(table, texts, runs)
        for table in tables
        if table.count(None) < len(table.numbers) or (paper, table.number) in AWAITED
    ]
    whole = PrintedTable(paper, "", [n for table in tables for n in table.numbers])
    return page(
        *("paper.html", address, f"{labels.paper(paper)} · bnnbench", "Papers"),
        common | _shared(texts),
        heading=labels.paper(paper),
        sentence=coverage_sentence(tables),
        shares=[(head, count(tables, kind)) for kind, head in HEADS.items()],
        grids=grids,
        galleries=[drawn() for drawn in GALLERIES.get(paper, ())],
        curves=_by_metric(curves(whole.numbers)),
        rows=[
            *((table.title, counts_of([table]), table.reasons) for table in tables),
            ("all", counts_of(tables), whole.reasons),
        ],
        columns=COLUMNS,
        heads=list(HEADS.values()),
        near=f"{NEAR:.0f}",
        far=f"{FAR:.0f}",
    )


def _shared(texts: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return the explanations, with repeated texts replaced by their place in a list."""
    counts = Counter(text for explanation in texts for text in explanation)
    places = {text: place for place, text in enumerate(t for t, n in counts.items() if n > 1)}
    return {
        "shared": list(places),
        "numbers": [[places.get(text, text) for text in explanation] for explanation in texts],
    }


def papers_index(
    address: str, papers: Mapping[str, Sequence[PrintedTable]], common: dict[str, Any]
) -> str:
    """Return the list of all papers with the counts of their printed numbers."""
    rows = [(paper, labels.paper(paper), counts_of(tables)) for paper, tables in papers.items()]
    every = [table for tables in papers.values() for table in tables]
    return page(
        *("papers.html", address, "Papers · bnnbench", "Papers", common),
        rows=rows,
        totals=counts_of(every),
        reasons=reasons(every),
        columns=COLUMNS,
        sentence=coverage_sentence(every),
    )


def number(published: Published, value: float, more: int = 0) -> str:
    """Return a value with the paper's decimals, in percent if our tables use percent."""
    percent = published.metric in labels.PERCENT
    places = max(0, published.decimals - 2 * percent) + more
    return typographic(f"{100 * value if percent else value:.{places}f}")


def _grid(table: PrintedTable, texts: list[list[str]], runs: RunPages) -> Grid:
    """Return a table as shown on the page, adding explanations of its numbers to `texts`."""
    arrangement = arranged(table)
    awaited = AWAITED.get((table.paper, table.number), ())

    def shown(cells: Mapping[str, Printed]) -> list[PaperCell | None]:
        return [
            _cell(cells[column], texts, runs, bool(awaited)) if column in cells else None
            for column in arrangement.columns
        ]

    blocks = {
        heading: [(label, shown(cells)) for label, cells in rows.items()]
        for heading, rows in arrangement.blocks.items()
    }
    caption = labels.sentence(", ".join(arrangement.constant))
    of_runs = [d for n in table.numbers if n.judgement for d in n.judgement.comparison.departures]
    departures = [labels.sentence(text) for text in dict.fromkeys(of_runs or awaited)]
    return Grid(table.title, caption, list(arrangement.columns.values()), blocks, departures)


def _cell(printed: Printed, texts: list[list[str]], runs: RunPages, with_reason: bool) -> PaperCell:
    theirs = number(printed.published, printed.published.value)
    if printed.kind is None:
        return PaperCell(theirs, "", "", "", None, printed.reason if with_reason else "")
    texts.append(_explanation(printed, runs) if printed.judgement else _computed(printed))
    kind = "excused" if printed.kind in EXCUSED else CLASSES.get(printed.kind, printed.kind)
    shown = number(printed.published, printed.ours)
    return PaperCell(theirs, shown, kind, printed.sign, len(texts) - 1)


def _computed(printed: Printed) -> list[str]:
    """Return heading, method, no page of runs, and sentences on a number in closed form."""
    ours, published = printed.closed_form, printed.published
    assert ours
    heading = f"{labels.sentence(labels.in_text(published.metric))}, {published.method}"
    same = "They agree" if ours.agrees(published) else "They differ"
    sentences = [
        f"Printed in table {published.table}: {number(published, published.value)}.",
        f"Ours: {number(published, ours.value, 2)}, {ours.how}; no run.",
        f"{same}: compared to the last printed place.",
        *([f"{labels.sentence(ours.cause)}."] if ours.cause else []),
    ]
    return [heading, published.method, "", *sentences]


def _explanation(printed: Printed, runs: RunPages) -> list[str]:
    """Return heading, method, page of its runs, and sentences on a number that was run."""
    judgement, published = printed.judgement, printed.published
    assert judgement
    comparison = judgement.comparison
    spread = published.spread
    kind = SPREADS.get(published.spread_kind, "its kind is not stated in the paper")
    plus = "" if spread is None else f" ± {number(published, spread, 1)} ({kind})"
    repeats = f", {counted(published.repeats, 'repeat')}" if published.repeats else ""
    error = comparison.standard_error
    of_ours = "" if error is None else f" ± {number(published, error, 1)} (standard error)"
    sentences = [
        f"Printed in table {published.table}: {number(published, published.value)}{plus}{repeats}.",
        f"Ours: {number(published, comparison.mean, 1)}{of_ours}, "
        f"{counted(comparison.runs, 'run')}, {counted(comparison.repeats, 'repeat')}.",
        _verdict(judgement),
        *(f"The protocol departs: {text}." for text in judgement.departures.values()),
        *(f"{labels.sentence(reason)}." for reason in judgement.reasons),
        *(f"Deviation: {t}." for t in comparison.departures if t not in judgement.departures),
    ]
    condition = f", {comparison.condition_title}" if comparison.condition_title else ""
    heading = (
        f"{labels.sentence(labels.in_text(published.metric))} of {comparison.method} on "
        f"{comparison.dataset}{condition}"
    )
    page_of_runs = runs.get((printed.suite, comparison.benchmark), "")
    return [heading, comparison.method, page_of_runs, *sentences]


def _verdict(judgement: Judgement) -> str:
    if judgement.z is None:
        return "They cannot be compared."
    deviates = typographic(f"{judgement.z:.1f}")
    verb = "agree" if judgement.kind == "agrees" else "differ much" if judgement.much else "differ"
    if judgement.closely:
        verb += " closely"
    return (
        f"They {verb}: the difference has {deviates} standard errors (up to {NEAR:.0f} agree, "
        f"beyond {FAR:.0f} differ much)."
    )


def _by_metric(drawn: Sequence[Curve]) -> Mapping[str, Sequence[Curve]]:
    by_metric: dict[str, list[Curve]] = {}
    for curve in drawn:
        by_metric.setdefault(curve.title, []).append(curve)
    return by_metric
