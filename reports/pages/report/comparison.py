"""The changes between two folders of results, with tests."""

from collections.abc import Iterator

from bnnbench.datasets.names import title_of
from bnnbench.reports.pages.captions import p_text
from bnnbench.reports.pages.exports.tables import escaped_markdown
from bnnbench.reports.pages.report.changes import Change, Changes, Place
from bnnbench.reports.style import labels
from bnnbench.reports.style.words import counted


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
