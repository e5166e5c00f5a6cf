"""`bnnbench report compare A B`: the changes between two folders of results, with tests."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bnnbench.commands.terminal.parser import Parser
from bnnbench.datasets.names import title_of
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.engine.records.record import Record
from bnnbench.reports.pages.captions import p_text
from bnnbench.reports.pages.exports.tables import escaped_markdown
from bnnbench.reports.pages.report.changes import Change, Changes, Place, changes
from bnnbench.reports.pages.report.margins import add_margins, margins
from bnnbench.reports.pages.report.page import compared
from bnnbench.reports.read.bundles import results_of
from bnnbench.reports.read.load import Damage, store_names
from bnnbench.reports.style import labels
from bnnbench.reports.style.words import counted

MOST_LINES = 15
"""The terminal shows at most this many entries of one kind; a file lists them all."""

EQUAL, CHANGED, MISUSED = 0, 1, 2
"""Exit codes: all scores and statuses equal; some differ; nothing could be compared."""


def main(arguments: Sequence[str]) -> int:
    """Print the changes, also write them with --out, and return the exit code."""
    parser = Parser("bnnbench report compare", description=__doc__)
    parser.add_argument("before", type=Path, help="the earlier folder of results, or a bundle")
    parser.add_argument("after", type=Path, help="the later folder of results, or a bundle")
    parser.add_argument("--out", type=Path, help="also write all changes to this .html or .md file")
    add_margins(parser)
    options = parser.parse_args(arguments)
    try:
        if options.out and options.out.suffix not in (".html", ".md"):
            raise ValueError(f"--out is {options.out}; give a file that ends in .html or .md")
        names = store_names([options.before, options.after])
        sides = [_records(path) for path in (options.before, options.after)]
    except ValueError as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return MISUSED
    damage = [
        Damage(d.key, f"{name}: {d.reason}")
        for name, (_, damaged) in zip(names, sides, strict=True)
        for d in damaged
    ]
    comparison = changes(
        (names[0], names[1]), sides[0][0], sides[1][0], damage, margins(options.margin)
    )
    print("\n".join(map(legible, lines(comparison, MOST_LINES))))
    if options.out:
        text = (
            compared(comparison, opening=opening, sections=sections)
            if options.out.suffix == ".html"
            else markdown(comparison)
        )
        options.out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(options.out, text.encode())
    return CHANGED if comparison.scores or comparison.ended else EQUAL


def _records(results: Path) -> tuple[list[Record], list[Damage]]:
    suites = results_of(results).values()
    return [r for suite in suites for r in suite.records], [
        d for suite in suites for d in suite.damage
    ]


def place_text(place: Place) -> str:
    """Return suite, profile, data set and method as text."""
    suite, profile, dataset, origin, method = place
    kind = "" if origin == "original" else f" ({origin})"
    return f"{suite} {profile}, {title_of(dataset)}{kind}, {method}"


def change_text(change: Change) -> str:
    """Return a change of a score as text."""
    tested = "" if change.p_value is None else f", p {p_text(change.p_value)}"
    interval = "" if change.half_width is None else f" ± {change.half_width:.2g}"
    return (
        f"{place_text(change.place)}, {change.condition}, "
        f"{labels.metric(change.metric)}: {change.before:.5g} → {change.after:.5g} "
        f"({change.difference:+.3g}{interval}; {change.different} of {change.pairs} pairs "
        f"differ{tested}): "
        f"{change.verdict}"
    )


def sections(comparison: Changes) -> Iterator[tuple[str, list[str]]]:
    """Yield a title for each kind of change, with its entries as text."""
    for name, only in zip(comparison.names, comparison.only, strict=True):
        runs = sum(only.values())
        yield (
            f"Only in {name}: {counted(runs, 'run')}",
            [f"{place_text(p)}: {n}" for p, n in only.items()],
        )
    ends = [f"{place_text(p)}: {n} {old} → {new}" for (p, old, new), n in comparison.ended.items()]
    yield f"Runs with another status: {sum(comparison.ended.values())}", ends
    title = (
        f"Scores: {len(comparison.scores)} means changed, {len(comparison.decided)} of them "
        f"significantly; {comparison.equal_scores} are bitwise equal"
    )
    yield title, [change_text(change) for change in comparison.scores]
    yield (
        f"Settings: {len(comparison.settings)}",
        [f"{s.where}: {s.name}: {s.before} → {s.after}" for s in comparison.settings],
    )
    yield (
        f"Code, packages, machines: {len(comparison.provenance)}",
        [f"{s.name}: {s.before} → {s.after}" for s in comparison.provenance],
    )
    costs = sorted(comparison.costs, key=lambda c: -abs(c.ratio - 1) if c.ratio == c.ratio else 0.0)
    yield (
        f"Costs: {len(costs)} mean fit times",
        [
            f"{place_text(c.place)}: {c.before:.3g} s → {c.after:.3g} s, × {c.ratio:.2f}"
            for c in costs
        ],
    )
    if comparison.damage:
        yield (
            f"Runs that could not be read: {len(comparison.damage)}",
            [f"{d.key}: {d.reason}" for d in comparison.damage],
        )


def opening(comparison: Changes) -> str:
    """Return a sentence about the runs that both stores have."""
    return (
        f"{comparison.names[0]} has {counted(comparison.runs[0], 'run')}, "
        f"{comparison.names[1]} has {comparison.runs[1]}; {comparison.common} form pairs of the "
        f"same data set, method, fold and seed, {comparison.same_key} of them with equal settings."
    )


def lines(comparison: Changes, most: int) -> Iterator[str]:
    """Yield the lines for a terminal, with at most `most` entries of a kind."""
    yield opening(comparison)
    for title, entries in sections(comparison):
        yield ""
        yield title
        yield from (f"  {' '.join(entry.split())}" for entry in entries[:most])
        if len(entries) > most:
            yield f"  and {len(entries) - most} more; --out FILE.html or FILE.md lists them all"


def markdown(comparison: Changes) -> str:
    """Return all changes in Markdown."""
    parts = [
        f"# {escaped_markdown(' → '.join(comparison.names))}",
        "",
        escaped_markdown(opening(comparison)),
    ]
    for title, entries in sections(comparison):
        parts += ["", f"## {escaped_markdown(title)}", ""]
        parts += [f"- {escaped_markdown(entry)}" for entry in entries]
    return "\n".join(parts) + "\n"
