"""The scores, costs and keys behind a question, as plain data for Python and for the page."""

import json
import math
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from bnnbench.engine.records.record import Record
from bnnbench.metrics import LISTED
from bnnbench.reports.judge.comparisons import exclusion
from bnnbench.reports.judge.over_sets.league import FEWEST_SETS
from bnnbench.reports.judge.participants import Exclusion, Run
from bnnbench.reports.judge.summaries.before_fits import held_out_scores, table_facts
from bnnbench.reports.pages.site.questions import BESIDE, ERROR, Criterion, Place, Question
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.devices import comparable_times, mean_fit_seconds
from bnnbench.reports.read.exclusions import unconverged
from bnnbench.reports.style import labels
from bnnbench.reports.style.families import family_of
from bnnbench.reports.style.numbers import slug

DIGITS = 5
"""Significant digits of a score on the page, used for ranking in Python, too."""

ByRun = Mapping[Run, float]
"""Fold and seed → score."""

Blocks = tuple[float, ...]
"""Scores on blocks of held-out rows; the first blocks are the same for all methods."""


class Ended(NamedTuple):
    """The key and the status of a run."""

    key: str
    status: str


@dataclass(frozen=True)
class Scale:
    """The score by which methods are ranked, and how to read its differences."""

    name: str
    metric: str
    title: str
    unit: str
    up: bool
    """True if higher is better."""
    scale: float
    ratio: bool
    margin: float | None
    """The largest difference that does not matter for choosing a method, in `unit`."""
    floor: float | None = None
    """As in `Criterion`."""

    def lowered(self, value: float) -> float:
        """Return a score in the unit of margins, with the sign that makes lower better."""
        if self.ratio:
            return self.scale * math.log(value) if value > 0 else math.nan
        return (-self.scale if self.up else self.scale) * value


@dataclass(frozen=True)
class Column:
    """A data set under a condition, or the mean over several conditions."""

    name: str
    title: str
    fits: str
    """Columns with the same text are conditions of the same fits."""
    by_fold: bool
    overlap: float
    rows: int
    """Training rows of a fit; 0 if unknown."""
    suite: str
    profile: str
    origin: str
    benchmark: tuple[str, str, str, str]
    """The identity of the benchmark behind it."""
    repeatable: bool
    """True if its records have what `bnnbench repeat` needs."""
    seeds: int = 1
    """The number of runs of a split whose mean is its score; the first of them represents all."""
    source: str | None = None
    """Columns with equal texts have folds cut from the same rows, so that their errors are
    correlated; None for others."""
    disjoint_rows: int = 0
    """Training rows of a fold, if folds share none; else 0."""


@dataclass(frozen=True, eq=False)
class Task:
    """All data that a page needs to answer a question; equal only to itself."""

    name: str
    question: Question
    scales: tuple[Scale, ...]
    columns: tuple[Column, ...]
    families: Mapping[str, str]
    """method → family, in the order of tables"""
    scores: Mapping[str, Mapping[str, Mapping[str, ByRun]]]
    """criterion → column → method → run → score"""
    seconds: Mapping[str, Mapping[str, float]]
    """column → method → mean seconds of a fit"""
    of_processors: bool
    """True if the seconds are processor time after a warm-up, which may be compared."""
    keys: Mapping[str, Mapping[str, Mapping[Run, Ended]]]
    """column → method → run → its key and status"""
    barred: Mapping[str, Mapping[str, Exclusion]] = field(default_factory=dict)
    """column → method → the reason why its runs are not compared"""
    beside: tuple[Scale, ...] = ()
    """Scales that no page ranks by, which say whether the first stays first."""
    held_out: Mapping[str, Mapping[str, Mapping[Run, Blocks]]] = field(default_factory=dict)
    """column → method → run → scores of the chosen settings on blocks of held-out training rows;
    only for questions over many data sets"""
    facts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """column → what is known of the table before a fit"""
    unconverged: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """column → method → the number of its fits that did not converge, if there are any"""

    @property
    def constants(self) -> list[str]:
        """The methods whose predictions ignore the inputs."""
        kinds = {(m, why.kind) for by in self.barred.values() for m, why in by.items()}
        return [method for method in self.families if (method, "constant") in kinds]

    def scale(self, name: str) -> Scale:
        """Return the scale of a criterion."""
        return next(scale for scale in (*self.scales, *self.beside) if scale.name == name)


def task_of(question: Question, benchmarks: Mapping[str, Sequence[Benchmark]]) -> Task | None:
    """Return the data behind a question, from suite → its benchmarks; None without any score."""
    entries = [
        (column, benchmark, conditions)
        for place in question.places
        for column, benchmark, conditions in _columns(place, benchmarks.get(place.suite, ()))
    ]
    entries.sort(key=lambda item: item[0].rows)
    if not entries:
        return None
    counts = Counter(column.name for column, _, _ in entries)
    entries = [
        (column if counts[column.name] == 1 else _with_its_suite(column), benchmark, conditions)
        for column, benchmark, conditions in entries
    ]
    scales = [scale for c in question.criteria if (scale := _scale(c, entries))]
    extra = BESIDE if ERROR in question.criteria else ()
    beside = [scale for c in extra if (scale := _scale(c, entries))]
    methods = {m: runs for _, b, _ in entries for m, runs in b.runs.items()}
    records = [r for _, b, _ in entries for r in b.records]
    of_processors, apart = comparable_times(records)
    columns = tuple(column for column, _, _ in entries)
    scores = {
        scale.name: {
            column.name: _scores(_runs(column, benchmark), conditions, scale)
            for column, benchmark, conditions in entries
        }
        for scale in (*scales, *beside)
    }
    if not any(by_run for of in scores.values() for by in of.values() for by_run in by.values()):
        return None
    parts = (question.kind, question.data, question.settings)
    return Task(
        slug(" ".join(parts)),
        question,
        tuple(scales),
        columns,
        {m: family_of(runs[0].run.get("method")) for m, runs in methods.items()},
        scores,
        {column.name: _seconds(b, of_processors, apart) for column, b, _ in entries},
        of_processors,
        {
            column.name: {m: _keys(of) for m, of in _runs(column, b).items()}
            for column, b, _ in entries
        },
        {
            column.name: {m: why for m, runs in b.runs.items() if (why := exclusion(runs))}
            for column, b, _ in entries
        },
        tuple(beside),
        {c.name: _held_out(c, b) for c, b, _ in entries} if len(entries) >= FEWEST_SETS else {},
        {column.name: table_facts(b) for column, b, _ in entries},
        {
            column.name: {m: count for m, runs in b.runs.items() if (count := unconverged(runs))}
            for column, b, _ in entries
        },
    )


def _columns(
    place: Place, benchmarks: Sequence[Benchmark]
) -> Iterator[tuple[Column, Benchmark, list[str]]]:
    """Yield the columns of a profile's data sets, each with its conditions."""
    for benchmark in benchmarks:
        is_counted = benchmark.profile == place.profile and benchmark.dataset not in place.but
        if not is_counted or benchmark.origin == "stand-in":
            continue
        by_title: dict[str, list[str]] = {}
        for condition in benchmark.conditions:
            title = place.titles(benchmark.traits[condition])
            if title is not None:
                by_title.setdefault(title, []).append(condition)
        for title, conditions in by_title.items():
            name = "/".join(filter(None, (benchmark.dataset, benchmark.setting, title)))
            rows = benchmark.records[0].circumstances.facts.get("train_rows")
            heading = f"{benchmark.title}, {title}" if title else benchmark.title
            column = Column(
                name,
                heading,
                "/".join(filter(None, (place.suite, benchmark.dataset, benchmark.setting))),
                benchmark.by_fold,
                benchmark.overlap or 0.0,
                rows if isinstance(rows, int) else 0,
                place.suite,
                place.profile,
                benchmark.origin,
                benchmark.identity,
                all("source" in record.run for record in benchmark.records),
                _most_seeds(benchmark.records) if place.by_split and benchmark.by_fold else 1,
                _source_of_cuts(benchmark) if benchmark.by_fold else None,
                rows if isinstance(rows, int) and _is_disjoint(benchmark) else 0,
            )
            yield column, benchmark, conditions


def _source_of_cuts(benchmark: Benchmark) -> str | None:
    """Return the source that a benchmark's data set is cut from; None if it is not a cut."""
    source = benchmark.records[0].run.get("source")
    whole = source.get("source") if isinstance(source, Mapping) else None
    return None if whole is None else json.dumps(whole, sort_keys=True)


def _is_disjoint(benchmark: Benchmark) -> bool:
    return all(
        "disjoint_training_sets" in record.circumstances.facts for record in benchmark.records
    )


def _with_its_suite(column: Column) -> Column:
    """Return a column whose name differs from another suite's data set of the same name."""
    origin = f"{column.suite}/{column.profile}"
    return replace(column, name=f"{origin}/{column.name}", title=f"{column.title} ({origin})")


def _scale(
    criterion: Criterion, entries: Sequence[tuple[Column, Benchmark, Sequence[str]]]
) -> Scale | None:
    """Return the first metric of a criterion that all columns have; None if there is none."""
    for name in criterion.metrics:
        scored = [
            any(name in r.outcome.scores.get(c, {}) for r in b.records for c in conditions)
            for _, b, conditions in entries
        ]
        if all(scored):
            metric = LISTED[name]
            margin = entries[0][1].margin(name)
            size = None
            if margin is not None and margin.relative == criterion.ratio:
                size = math.log1p(margin.size) if criterion.ratio else margin.size
            return Scale(
                criterion.name,
                name,
                labels.in_text(name),
                criterion.unit,
                bool(metric.higher_is_better),
                criterion.scale,
                criterion.ratio,
                size and criterion.scale * size,
                criterion.floor,
            )
    return None


def _most_seeds(records: Sequence[Record]) -> int:
    return len({r.seed for r in records})


def _runs(column: Column, benchmark: Benchmark) -> dict[str, dict[Run, list[Record]]]:
    """Return method → run → its record, or the records of all seeds of a split."""
    together: dict[str, dict[Run, list[Record]]] = {}
    for method, runs in benchmark.runs.items():
        of = together.setdefault(method, {})
        for run in sorted(runs, key=lambda r: (r.fold, r.seed)):
            of.setdefault((run.fold, 0 if column.seeds > 1 else run.seed), []).append(run)
    return together


def _scores(
    runs: Mapping[str, Mapping[Run, Sequence[Record]]], conditions: Sequence[str], scale: Scale
) -> dict[str, ByRun]:
    """Return method → run → mean score over the conditions, if all are known.

    The mean over seeds matches the comparison of methods: it is geometric if they are compared by
    ratios.
    """
    scores: dict[str, ByRun] = {}
    for method, of in runs.items():
        by_run: dict[Run, float] = {}
        for run, records in of.items():
            scored = [
                [r.outcome.scores.get(c, {}).get(scale.metric) for c in conditions] for r in records
            ]
            known = [[v for v in values if v is not None] for values in scored]
            if known == scored and all(r.outcome.status == "completed" for r in records):
                means = [sum(values) / len(values) for values in known]
                by_run[run] = float(f"{_over_seeds(means, scale.ratio):.{DIGITS}g}")
        if by_run:
            scores[method] = by_run
    return scores


def _held_out(column: Column, benchmark: Benchmark) -> dict[str, Mapping[Run, Blocks]]:
    """Return method → run → scores of the chosen settings on blocks of held-out training rows."""
    by_method = {
        method: {run: score for run, of in runs.items() if (score := held_out_scores(of))}
        for method, runs in _runs(column, benchmark).items()
    }
    return {method: by_run for method, by_run in by_method.items() if by_run}


def _over_seeds(means: Sequence[float], by_ratio: bool) -> float:
    if by_ratio and len(means) > 1 and min(means) > 0:
        return math.exp(sum(map(math.log, means)) / len(means))
    return sum(means) / len(means)


def _seconds(benchmark: Benchmark, of_processors: bool, apart: Container[str]) -> dict[str, float]:
    means = {m: mean_fit_seconds(of, of_processors, apart) for m, of in benchmark.runs.items()}
    return {method: float(f"{mean:.4g}") for method, mean in means.items() if mean is not None}


def _keys(runs: Mapping[Run, Sequence[Record]]) -> dict[Run, Ended]:
    """Return run → its key and status; for several seeds, the first, or the first that failed."""
    keys = {}
    for run, records in runs.items():
        shown = next((r for r in records if r.outcome.status != "completed"), records[0])
        keys[run] = Ended(shown.key, shown.outcome.status)
    return keys
