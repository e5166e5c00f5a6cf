"""The page of a source paper: each printed number with ours, in the paper's own tables."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bnnbench.reports.pages.drilldown.run_pages import RunPages
from bnnbench.reports.pages.layout import page
from bnnbench.reports.pages.site.logistic_unit import gallery_of_logistic_unit
from bnnbench.reports.pages.site.printed_curves import Curve, curves
from bnnbench.reports.pages.site.units import gallery_of_units
from bnnbench.reports.papers.arranged import arranged
from bnnbench.reports.papers.coverage import Printed, PrintedTable
from bnnbench.reports.papers.published import Published
from bnnbench.reports.papers.verdicts import FAR, KINDS, NEAR, Kind
from bnnbench.reports.sections.base import Gallery
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import typographic
from bnnbench.reports.style.words import all_of, counted, joined
from bnnbench.suites.departures import AWAITED

HEADS: Mapping[Kind | None, str] = {
    "agrees": "agree",
    "differs": "differ",
    "differs much": "differ much",
    "not comparable": "cannot be compared",
    None: "not run",
}
"""The kind of a verdict → its verb phrase after a count; None for numbers that were not run."""

GALLERIES: Mapping[str, Sequence[Callable[[], Gallery]]] = {
    "001": (gallery_of_units, gallery_of_logistic_unit)
}
"""Paper → our figures that need no run."""

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
    """The verdict as a CSS class: "agrees", "differs", "much", "open"; "" if not run."""
    sign: str
    """▲ or ▼ if the numbers differ and ours is higher or lower, doubled if by much."""
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
    return page(
        *("paper.html", address, f"{labels.paper(paper)} · bnnbench", "Papers"),
        common | _shared(texts),
        heading=labels.paper(paper),
        sentence=coverage_sentence(tables),
        shares=[(head, count(tables, kind)) for kind, head in HEADS.items()],
        grids=grids,
        galleries=[drawn() for drawn in GALLERIES.get(paper, ())],
        curves=_by_metric(curves([n for table in tables for n in table.numbers])),
        tables=tables,
        whole=PrintedTable(paper, "", [n for table in tables for n in table.numbers]),
        kinds=[*KINDS, None],
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
    rows = [
        (paper, labels.paper(paper), [count(tables, kind) for kind in HEADS])
        for paper, tables in papers.items()
    ]
    every = [table for tables in papers.values() for table in tables]
    return page(
        *("papers.html", address, "Papers · bnnbench", "Papers", common),
        rows=rows,
        totals=[count(every, kind) for kind in HEADS],
        reasons=reasons(every),
        heads=list(HEADS.values()),
        sentence=coverage_sentence(every),
    )


def count(tables: Iterable[PrintedTable], kind: Kind | None) -> int:
    """Return the number of verdicts of a kind; None counts numbers that were not run."""
    return sum(table.count(kind) for table in tables)


def coverage_sentence(tables: Sequence[PrintedTable]) -> str:
    """Return text on how many printed numbers agree, and why others are not compared."""
    of = {kind: count(tables, kind) for kind in HEADS}
    compared = of["agrees"] + of["differs"] + of["differs much"]
    sentences = []
    if compared:
        differing = of["differs"] + of["differs much"]
        near = f"with ours within {NEAR:.0f} standard errors"
        agree = "agrees" if of["agrees"] == 1 else "agree"
        if differing:
            sentences.append(
                f"{of['agrees']} of the {counted(compared, 'printed number')} that can be compared "
                f"{agree} {near}, {differing} {'differs' if differing == 1 else 'differ'}, "
                f"{of['differs much'] or 'none'} by more than {FAR:.0f}."
            )
        else:
            numbers = all_of(compared, "printed number")
            sentences.append(f"{numbers} that can be compared {agree} {near}.")
    if computed := sum(n.closed_form is not None for table in tables for n in table.numbers):
        verb = "is" if computed == 1 else "are"
        sentences.append(
            f"{computed} of them {verb} in closed form and compared to the last printed place."
        )
    if of["not comparable"]:
        verb = "was" if of["not comparable"] == 1 else "were"
        sentences.append(f"{of['not comparable']} {verb} run and cannot be compared.")
    if of[None]:
        listed = joined([f"{reason} ({number})" for reason, number in reasons(tables).items()])
        verb = "has" if of[None] == 1 else "have"
        sentences.append(f"{of[None]} {verb} none of ours beside it: {listed}.")
    return " ".join(sentences)


def reasons(tables: Iterable[PrintedTable]) -> Mapping[str, int]:
    """Return each reason for a printed number without a counterpart of ours, with its count."""
    return Counter(n.reason for table in tables for n in table.numbers if n.kind is None)


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
    sign = "▲" if printed.ours > printed.published.value else "▼"
    signs = {"differs": sign, "differs much": 2 * sign}
    kinds = {"differs much": "much", "not comparable": "open"}
    texts.append(_explanation(printed, runs) if printed.judgement else _computed(printed))
    kind = kinds.get(printed.kind, printed.kind)
    shown = number(printed.published, printed.ours)
    return PaperCell(theirs, shown, kind, signs.get(printed.kind, ""), len(texts) - 1)


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
        _verdict(judgement.kind, judgement.z),
        *(f"{labels.sentence(reason)}." for reason in judgement.reasons),
        *(f"Deviation: {text}." for text in comparison.departures),
    ]
    condition = f", {comparison.condition_title}" if comparison.condition_title else ""
    heading = (
        f"{labels.sentence(labels.in_text(published.metric))} of {comparison.method} on "
        f"{comparison.dataset}{condition}"
    )
    page_of_runs = runs.get((printed.suite, comparison.benchmark), "")
    return [heading, comparison.method, page_of_runs, *sentences]


def _verdict(kind: Kind, z: float | None) -> str:
    if z is None:
        return "They cannot be compared."
    deviates = typographic(f"{z:.1f}")
    verb = {"agrees": "agree", "differs": "differ"}.get(kind, "differ much")
    return (
        f"They {verb}: the difference has {deviates} standard errors (up to {NEAR:.0f} agree, "
        f"beyond {FAR:.0f} differ much)."
    )


def _by_metric(drawn: Sequence[Curve]) -> Mapping[str, Sequence[Curve]]:
    by_metric: dict[str, list[Curve]] = {}
    for curve in drawn:
        by_metric.setdefault(curve.title, []).append(curve)
    return by_metric
