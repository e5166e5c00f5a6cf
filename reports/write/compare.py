"""`bnnbench report compare A B`: what changed between two folders of results, with tests."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.reports.read.load import Damage, read, store_names, suite_folders
from bnnbench.reports.style import labels
from bnnbench.reports.write.changes import Change, Changes, Place, changes
from bnnbench.reports.write.export import escaped_markdown
from bnnbench.reports.write.page import compared
from bnnbench.suites.engine.store.record import Record

MOST_LINES = 15
"""Entries of one kind that the terminal shows; a file has them all."""

EQUAL, CHANGED, MISUSED = 0, 1, 2
"""Exit codes: no score and no end of a run differs; some do; nothing could be compared."""


def main(arguments: Sequence[str]) -> int:
    """Print what changed, write it with --out, and return the exit code."""
    parser = argparse.ArgumentParser("bnnbench report compare", description=__doc__)
    parser.add_argument("before", type=Path, help="a folder of results")
    parser.add_argument("after", type=Path, help="another")
    parser.add_argument("--out", type=Path, help="also write it there: a file .html or .md")
    options = parser.parse_args(arguments)
    try:
        if options.out and options.out.suffix not in (".html", ".md"):
            raise ValueError(f"--out is a file named .html or .md, not {options.out}")
        names = store_names([options.before, options.after])
        sides = [_records(path) for path in (options.before, options.after)]
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return MISUSED
    damage = [
        Damage(d.key, f"{name}: {d.reason}")
        for name, (_, found) in zip(names, sides, strict=True)
        for d in found
    ]
    found = changes((names[0], names[1]), sides[0][0], sides[1][0], damage)
    print("\n".join(lines(found, MOST_LINES)))
    if options.out:
        text = (
            compared(found, opening=opening, sections=sections)
            if options.out.suffix == ".html"
            else markdown(found)
        )
        options.out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(options.out, text.encode())
    return CHANGED if found.scores or found.ended else EQUAL


def _records(results: Path) -> tuple[list[Record], list[Damage]]:
    read_ = [read(folder) for folder in suite_folders(results)]
    return [r for one in read_ for r in one.records], [d for one in read_ for d in one.damage]


def named(place: Place) -> str:
    """Return suite, profile, data set and method in words."""
    suite, profile, dataset, origin, method = place
    kind = "" if origin == "original" else f" ({origin})"
    return f"{suite} {profile}, {labels.dataset(dataset)}{kind}, {method}"


def told(change: Change) -> str:
    """Return a change of a score in words."""
    tested = "" if change.p_value is None else f", p = {change.p_value:.2g}"
    return (
        f"{named(change.place)}, {labels.condition(change.condition)}, "
        f"{labels.metric(change.metric)}: {change.before:.5g} → {change.after:.5g} "
        f"({change.difference:+.3g}; {change.different} of {change.pairs} pairs differ{tested}): "
        f"{change.verdict}"
    )


def sections(found: Changes) -> Iterator[tuple[str, list[str]]]:
    """Yield the kinds of changes, each with its entries in words."""
    for name, only in zip(found.names, found.only, strict=True):
        runs = sum(only.values())
        yield f"Only in {name}: {runs} runs", [f"{named(p)}: {n}" for p, n in only.items()]
    ends = [f"{named(p)}: {n} {old} → {new}" for (p, old, new), n in found.ended.items()]
    yield f"Runs that end otherwise: {sum(found.ended.values())}", ends
    title = (
        f"Scores: {len(found.scores)} means changed, {len(found.significant)} of them "
        f"significantly; {found.equal_scores} are equal in every bit"
    )
    yield title, [told(change) for change in found.scores]
    yield (
        f"Settings: {len(found.settings)}",
        [f"{s.where}: {s.name}: {s.before} → {s.after}" for s in found.settings],
    )
    yield (
        f"Code, packages, machines: {len(found.provenance)}",
        [f"{s.name}: {s.before} → {s.after}" for s in found.provenance],
    )
    costs = sorted(found.costs, key=lambda c: -abs(c.ratio - 1) if c.ratio == c.ratio else 0.0)
    yield (
        f"Costs: {len(costs)} mean fit times",
        [f"{named(c.place)}: {c.before:.3g} s → {c.after:.3g} s, × {c.ratio:.2f}" for c in costs],
    )
    if found.damage:
        yield (
            f"Could not be read: {len(found.damage)}",
            [f"{d.key}: {d.reason}" for d in found.damage],
        )


def opening(found: Changes) -> str:
    """Return how far the stores have runs in common, in a sentence."""
    return (
        f"{found.names[0]} has {found.runs[0]} runs, {found.names[1]} {found.runs[1]}; "
        f"{found.common} are pairs of one data set, method, fold and seed, "
        f"{found.same_key} of them with equal settings."
    )


def lines(found: Changes, most: int) -> Iterator[str]:
    """Yield the lines for a terminal; at most so many of a kind."""
    yield opening(found)
    for title, entries in sections(found):
        yield ""
        yield title
        yield from (f"  {' '.join(entry.split())}" for entry in entries[:most])
        if len(entries) > most:
            yield f"  and {len(entries) - most} more; --out FILE.html or FILE.md has them all"


def markdown(found: Changes) -> str:
    """Return everything in Markdown."""
    parts = [f"# {escaped_markdown(' → '.join(found.names))}", "", escaped_markdown(opening(found))]
    for title, entries in sections(found):
        parts += ["", f"## {escaped_markdown(title)}", ""]
        parts += [f"- {escaped_markdown(entry)}" for entry in entries]
    return "\n".join(parts) + "\n"
