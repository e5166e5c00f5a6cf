"""The list of data sets: each once, with its cuts, noise levels and networks folded inside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bnnbench.datasets.names import title_of
from bnnbench.reports.pages.layout import page
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.facts import data_facts
from bnnbench.reports.style import labels
from bnnbench.reports.style.words import counted

GENERATED, NUMBERS, CLASSES = "Generated, with a known law", "Numbers to predict", "Classes"
KINDS = (NUMBERS, CLASSES, GENERATED)
"""Headings in page order."""

Sets = Mapping[str, Mapping[str, Sequence[Benchmark]]]
"""Name of a case → suite → its benchmarks"""


@dataclass(frozen=True)
class Case:
    """The rows or the network that a suite makes of a data set."""

    title: str
    page: str
    rows: str
    suites: tuple[str, ...]


@dataclass(frozen=True)
class DataSet:
    """A data set and its cases."""

    title: str
    kind: str
    origin: str
    cases: tuple[Case, ...]

    @property
    def note(self) -> str:
        """Its rows, or the number of its cases, its origin, and the suites that use it."""
        (first, *others) = self.cases
        size = counted(len(self.cases), "case") if others else first.rows
        suites = dict.fromkeys(suite for case in self.cases for suite in case.suites)
        return " · ".join(filter(None, [size, self.origin, ", ".join(suites)]))


def data_index(address: str, sets: Sets, pages: Mapping[str, str], common: dict[str, Any]) -> str:
    """Return the list of all data sets; `pages` has the page of each case."""
    listed = data_sets(sets, pages)
    return page(
        *("datasets.html", address, "Data sets · bnnbench", "Data sets", common),
        count=counted(len(listed), "data set"),
        cases=counted(len(sets), "case"),
        kinds={
            kind: [one for one in listed if one.kind == kind]
            for kind in KINDS
            if any(one.kind == kind for one in listed)
        },
    )


def data_sets(sets: Sets, pages: Mapping[str, str]) -> list[DataSet]:
    """Return the data sets by title; cases cut or made from one source are one data set."""
    names_by_source: dict[tuple[str, str], list[str]] = {}
    for name, by_suite in sets.items():
        source = next(iter(by_suite.values()))[0].records[0].run.get("source")
        names_by_source.setdefault(whole(source, name), []).append(name)
    every = [
        _data_set(title_of(of or kind), [(name, sets[name]) for name in names], pages)
        for (kind, of), names in names_by_source.items()
    ]
    return sorted(every, key=lambda one: one.title.casefold())


def whole(source: object, name: str) -> tuple[str, str]:
    """Return type and name of the source that a source is cut from or made of, or its own.

    The name of the case stands for a source that is not described.
    """
    if not isinstance(source, Mapping):
        return name, ""
    parts = (part for part in source.values() if isinstance(part, Mapping) and "type" in part)
    inner = next(parts, None)
    return whole(inner, name) if inner else (str(source["type"]), str(source.get("name", "")))


def _data_set(
    title: str,
    cases: Sequence[tuple[str, Mapping[str, Sequence[Benchmark]]]],
    pages: Mapping[str, str],
) -> DataSet:
    listed = [_case(pages[name], by_suite) for name, by_suite in cases]
    first = next(iter(cases[0][1].values()))[0]
    kind = NUMBERS if first.records[0].circumstances.target else CLASSES
    return DataSet(
        listed[0].title if len(listed) == 1 else title,
        GENERATED if first.origin == "generated" else kind,
        first.origin,
        tuple(sorted(listed, key=lambda case: case.title.casefold())),
    )


def _case(page: str, by_suite: Mapping[str, Sequence[Benchmark]]) -> Case:
    largest = max((of[0] for of in by_suite.values()), key=_training_rows)
    return Case(largest.title, page, data_facts(largest).rows, tuple(map(labels.suite, by_suite)))


def _training_rows(benchmark: Benchmark) -> int:
    rows = benchmark.records[0].circumstances.facts.get("train_rows")
    return rows if isinstance(rows, int) else 0
