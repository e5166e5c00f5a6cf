"""The runs behind the cells of a page, as the compact data that its script shows."""

import json
import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from markupsafe import Markup

from bnnbench.reports.read.facts import provenance_entries
from bnnbench.reports.style import labels
from bnnbench.reports.write.content import Content
from bnnbench.suites.engine.store.record import COSTS, Record

MOST_BYTES = 1_400_000
"""Of a page, for what is behind its cells."""

DIGITS = 6
LONGEST_ERROR = 600

Plain = dict[str, Any]
Held = tuple[Plain, Sequence[Record], Sequence[tuple[str, str]], str]
"""What the page holds of a method's runs, the runs, the scores to add, the main condition."""


def behind(content: Content, most_bytes: int = MOST_BYTES) -> Plain:
    """Return what a click on a cell shows: runs, scores, diagnostics, settings, provenance.

    A column that is equal for all runs of a method is given as one value. What does not fit
    into `most_bytes` is left out, scores under rarer conditions first, and `whole` is false.
    """
    places = content.results.places
    stores = list(content.stores)
    wanted = {
        (column.benchmark, column.condition, column.name)
        for _, table in content.tables
        for column in table.columns
        if column.condition
    }
    origins: dict[str, int] = {}
    found: Plain = {
        "suite": content.suite,
        "stores": stores,
        "settings": {part.profile: part.settings for part in content.parts},
        "names": _names(wanted),
        "benchmarks": [],
        "whole": True,
    }
    left = most_bytes - size(found)
    runs_of: list[Held] = []
    for benchmark in content.benchmarks:
        entry = {
            "title": benchmark.title,
            "profile": benchmark.profile,
            "origin": benchmark.origin,
            "methods": {},
        }
        found["benchmarks"].append(entry)
        for method, runs in benchmark.runs.items():
            columns = _runs(runs, origins)
            if stores:
                columns["store"] = _column([stores.index(places[r.key]) for r in runs])
            left -= (cost := size(columns))
            if left < 0:
                found["whole"], left = False, left + cost
                continue
            entry["methods"][method] = columns
            mine = sorted((c, m) for b, c, m in wanted if b == benchmark.identity)
            runs_of.append((columns, runs, mine, benchmark.main))
    found["origins"] = [json.loads(text) for text in origins]
    left -= size(found["origins"])
    for columns, name, column in _numbers(runs_of):
        left -= (cost := size(column) + len(name[-1]) + 8)
        if left < 0:
            found["whole"], left = False, left + cost
            continue
        for part in name[:-1]:
            columns = columns.setdefault(part, {})
        columns[name[-1]] = column
    return found


def size(data: object) -> int:
    """Return how many bytes data take on the page."""
    return len(embedded(data).encode())


def embedded(data: object) -> Markup:
    """Return data as JSON that no HTML parser can mistake for anything else."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _names(wanted: Collection[tuple[object, str, str]]) -> dict[str, str]:
    """Return condition, metric or cost → what it is called."""
    conditions = sorted({condition for _, condition, _ in wanted})
    metrics = sorted({metric for _, _, metric in wanted})
    return {c: labels.condition(c) for c in conditions} | {
        m: labels.metric(m) for m in (*metrics, *COSTS)
    }


def _runs(runs: Sequence[Record], origins: dict[str, int]) -> Plain:
    """Return what is known of every run, and number the origins as they come."""
    told = [json.dumps(provenance_entries(r), ensure_ascii=False, sort_keys=True) for r in runs]
    columns: Plain = {
        "key": [r.key for r in runs],
        "fold": _column([r.fold for r in runs]),
        "seed": _column([r.seed for r in runs]),
        "status": _column([r.status for r in runs]),
        "finished": _column([str(r.provenance.get("finished", ""))[:19] for r in runs]),
        "origin": _column([origins.setdefault(text, len(origins)) for text in told]),
    }
    for name in COSTS:
        columns[name] = _column([getattr(r.cost, name, None) for r in runs])
    if errors := {i: r.error[-LONGEST_ERROR:] for i, r in enumerate(runs) if r.error}:
        columns["errors"] = errors
    return columns


def _numbers(
    runs_of: Sequence[Held],
) -> Iterator[tuple[Plain, tuple[str, ...], object]]:
    """Yield columns of scores and diagnostics with their place, the most asked for first."""
    for first in (True, False):
        for columns, runs, wanted, main in runs_of:
            for condition, metric in wanted:
                if (condition == main) is first:
                    values = [r.scores.get(condition, {}).get(metric) for r in runs]
                    yield columns, ("scores", condition, metric), _column(values)
        for columns, runs, _, _ in runs_of if first else ():
            for name in sorted({n for r in runs for n in r.diagnostics}):
                values = [r.diagnostics.get(name) for r in runs]
                yield columns, ("diagnostics", name), _column(values)


def _column(values: Sequence[object]) -> object:
    """Return the values as a list, or as the one value that all are."""
    plain = [_plain(value) for value in values]
    return plain[0] if all(value == plain[0] for value in plain) else plain


def _plain(value: object) -> object:
    """Return a value that JSON can say: numbers in six digits, others by name."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "−∞"
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 10**DIGITS):
        return int(value)
    return float(f"{value:.{DIGITS}g}")
