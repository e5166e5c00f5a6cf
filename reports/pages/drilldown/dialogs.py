"""The drilldown from a cell of a page to its runs, as compact data for the page's script."""

import json
import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from bnnbench.engine.records.cost import COSTS
from bnnbench.engine.records.record import Record
from bnnbench.reports.judge.table import Table
from bnnbench.reports.pages.drilldown.columns import column_of, method_runs
from bnnbench.reports.pages.drilldown.run_pages import NO_PAGES, RunPages
from bnnbench.reports.pages.layout import packed
from bnnbench.reports.pages.report.content import Content
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style import labels

Plain = dict[str, Any]
MethodRuns = tuple[Plain, Sequence[Record], Sequence[tuple[str, str]], str]
"""A method's data on the page, its runs, the scores to add, and the main condition."""


class Drilldown:
    """The runs behind the tables of a report, whose pages link to `run_pages`."""

    def __init__(self, content: Content, run_pages: RunPages = NO_PAGES) -> None:
        self.content = content
        self.run_pages = run_pages
        self.stores = list(content.stores)
        self.origins: dict[str, int] = {}
        self.columns: dict[tuple[object, str], Plain] = {}

    def compressed(self, tables: Sequence[Table], most_bytes: int) -> str:
        """Return the drilldown of the tables of a page, compressed to at most this many bytes."""
        data = self.of(tables)
        text = packed(data)
        while len(text) > most_bytes and any(b["methods"] for b in data["benchmarks"]):
            data = self.of(tables, int(0.9 * size(data) * most_bytes / len(text)))
            text = packed(data)
        return text

    def of(self, tables: Sequence[Table], most_bytes: float = math.inf) -> Plain:
        """Return the data shown on a click in these tables: runs, scores, settings, provenance.

        A column that is equal for all runs of a method is stored as one value. If the data exceed
        `most_bytes`, some are left out, first the scores under conditions other than the main one;
        `whole` is then false.
        """
        content = self.content
        columns_of = [column for table in tables for column in table.columns]
        shown_columns = {(c.benchmark, c.condition, c.name) for c in columns_of if c.condition}
        opened = {column.benchmark for column in columns_of}
        data: Plain = {
            "suite": content.suite,
            "stores": self.stores,
            "settings": {part.profile: part.settings for part in content.parts},
            "names": _names(content.benchmarks, shown_columns),
            "costs": {name: labels.metric(name) for name in COSTS},
            "benchmarks": [],
            "whole": True,
        }
        left = most_bytes - size(data)
        runs_of: list[MethodRuns] = []
        for benchmark in content.benchmarks:
            entry = self._entry(benchmark)
            data["benchmarks"].append(entry)
            for method, runs in benchmark.runs.items() if benchmark.identity in opened else ():
                columns = dict(self._columns(benchmark, method))
                left -= (cost := size(columns))
                if left < 0:
                    data["whole"], left = False, left + cost
                    continue
                entry["methods"][method] = columns
                scores = sorted((c, m) for b, c, m in shown_columns if b == benchmark.identity)
                runs_of.append((columns, runs, scores, benchmark.main))
        data["origins"] = [json.loads(text) for text in self.origins]
        left -= size(data["origins"])
        for columns, name, column in _numbers(runs_of):
            left -= (cost := size(column) + len(name[-1]) + 8)
            if left < 0:
                data["whole"], left = False, left + cost
                continue
            for part in name[:-1]:
                columns = columns.setdefault(part, {})
            columns[name[-1]] = column
        return data

    def _entry(self, benchmark: Benchmark) -> Plain:
        page = self.run_pages.get((self.content.suite, benchmark.identity))
        return {
            "title": benchmark.title,
            "profile": benchmark.profile,
            "origin": benchmark.origin,
            "methods": {},
        } | ({"page": f"../{page}"} if page else {})

    def _columns(self, benchmark: Benchmark, method: str) -> Plain:
        """Return the columns of a method's runs, without scores and diagnostics."""
        place = benchmark.identity, method
        if place not in self.columns:
            runs = benchmark.runs[method]
            columns = method_runs(runs, self.origins)
            if self.stores:
                places = self.content.results.places
                columns["runs"]["store"] = column_of(
                    [self.stores.index(places[r.key]) for r in runs]
                )
            self.columns[place] = columns
        return self.columns[place]


def size(data: object) -> int:
    """Return the number of bytes of uncompressed data."""
    return len(json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode())


def _names(
    benchmarks: Sequence[Benchmark], shown_columns: Collection[tuple[object, str, str]]
) -> dict[str, str]:
    """Return condition or metric → its title."""
    conditions = sorted({condition for _, condition, _ in shown_columns})
    titles = {name: traits.title for b in benchmarks for name, traits in b.traits.items()}
    metrics = sorted({metric for _, _, metric in shown_columns})
    return {c: titles.get(c, c) for c in conditions} | {m: labels.metric(m) for m in metrics}


def _numbers(
    runs_of: Sequence[MethodRuns],
) -> Iterator[tuple[Plain, tuple[str, ...], object]]:
    """Yield columns of scores and diagnostics with their path, the most important first."""
    for first in (True, False):
        for columns, runs, scores, main in runs_of:
            for condition, metric in scores:
                if (condition == main) is first:
                    values = [r.outcome.scores.get(condition, {}).get(metric) for r in runs]
                    yield columns, ("scores", condition, metric), column_of(values)
        for columns, runs, _, _ in runs_of if first else ():
            for name in sorted({n for r in runs for n in r.outcome.diagnostics}):
                values = [r.outcome.diagnostics.get(name) for r in runs]
                yield columns, ("diagnostics", name), column_of(values)
