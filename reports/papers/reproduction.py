"""The rules for setting a printed score beside one of ours.

It stands beside ours only where runs followed the paper's protocol, to the end, on the original
data. Where they departed, it may be shown apart, with what differs. Beside a stand-in, never.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bnnbench.metrics.statistics import mean, replicates, summary
from bnnbench.reports.judge.columns import standard_error
from bnnbench.reports.papers.protocols import Protocol, declared, has_network, ours
from bnnbench.reports.papers.published import Published, table
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style import labels
from bnnbench.reports.style.descriptions import class_name
from bnnbench.suites.engine.store.record import Record

FEWEST = 3
"""Repeats (folds, or seeds of the only one) whose mean stands beside that of more."""

NEGATIVE = {"nll": "log_likelihood", "log_likelihood": "nll"}


@dataclass(frozen=True)
class Comparison:
    """A printed score and ours; `differs` says why the two do not compare, if they do not."""

    published: Published
    dataset: str
    """The name on pages."""
    method: str
    condition: str
    mean: float
    standard_error: float | None
    runs: int
    repeats: int
    """Of ours: folds, or seeds of the only one."""
    departures: tuple[str, ...]
    differs: tuple[str, ...]
    unconverged: int = 0
    """How many of our runs did not converge, by their own diagnostics."""
    std: float | None = None
    """Standard deviation of our repeats."""
    protocol: Protocol | None = None
    """How our runs were made."""

    @property
    def difference(self) -> float:
        """Ours less theirs."""
        return self.mean - self.published.value

    @property
    def decimals(self) -> int:
        """How many decimals to show: as many as the paper prints."""
        return self.published.decimals


@dataclass(frozen=True)
class Reproduction:
    """All comparisons with one table of one paper that compare, or all that do not."""

    paper: str
    table: str
    departures: tuple[str, ...]
    """Where the suite knowingly departs from the paper."""
    comparisons: tuple[Comparison, ...]

    @property
    def same_protocol(self) -> bool:
        """Whether the printed numbers may stand beside ours."""
        return not any(c.differs for c in self.comparisons)

    @property
    def notes(self) -> list[str]:
        """What to know of single comparisons, each text once."""
        return list(dict.fromkeys(note for c in self.comparisons for note in remarks(c)))

    def numbered(self, comparison: Comparison) -> list[int]:
        """Return which of `notes` belong to a comparison, counted from 1."""
        return [self.notes.index(note) + 1 for note in remarks(comparison)]


def remarks(comparison: Comparison) -> tuple[str, ...]:
    """Return why two numbers do not compare, and the doubts of the source and of ours."""
    found = list(comparison.differs)
    noted = comparison.published.note
    if noted and not any(noted in text for text in found):
        found.append(noted)
    wanted = comparison.published.repeats
    if wanted and FEWEST <= comparison.repeats < wanted:
        found.append(f"{comparison.repeats} repeats, not {wanted}")
    if comparison.unconverged:
        found.append(f"{comparison.unconverged} of our {comparison.runs} runs did not converge")
    return tuple(found)


def reproductions(benchmarks: Iterable[Benchmark]) -> list[Reproduction]:
    """Return the printed scores with ours, by table, those of the same protocol first."""
    groups: dict[tuple[bool, str, str, tuple[str, ...]], list[Comparison]] = {}
    for benchmark in benchmarks:
        for found in comparisons(benchmark):
            theirs = found.published
            place = (bool(found.differs), theirs.paper, theirs.table, found.departures)
            groups.setdefault(place, []).append(found)
    return [Reproduction(*place[1:], tuple(groups[place])) for place in sorted(groups, key=_order)]


def _order(place: tuple[bool, str, str, tuple[str, ...]]) -> tuple[object, ...]:
    """Return what sorts table 2 before table 10."""
    differs, paper, number, departures = place
    return differs, paper, len(number), number, departures


def comparisons(benchmark: Benchmark) -> Iterator[Comparison]:
    """Return the printed scores of the tables that the benchmark follows, each with ours."""
    protocols: dict[tuple[str, str], tuple[str, ...]] = {}
    for record in benchmark.records:
        for entry in record.reproduces:
            departures = tuple(str(d) for d in _sequence(entry.get("departures")))
            protocols[str(entry.get("paper")), str(entry.get("table"))] = departures
    for (paper, number), departures in sorted(protocols.items()):
        cells = [row for row in table(paper, number) if row.dataset == benchmark.dataset]
        models = {row.model for row in cells}
        columns = {method: _columns(models, runs) for method, runs in benchmark.runs.items()}
        for printed in cells:
            for method, runs in benchmark.runs.items():
                if method.casefold() == printed.method and printed.model in columns[method]:
                    yield from _compared(printed, method, runs, departures)


def _columns(models: set[str], runs: Sequence[Record]) -> set[str]:
    """Return those of a table's networks that our runs have or may have, all where none is theirs.

    A paper need not say which network a number is of.
    """
    known = {model: {has_network(run, model) for run in runs} for model in models}
    if {True} not in known.values():
        return models
    return {model for model, found in known.items() if found in ({True}, {None})}


def _compared(
    printed: Published, method: str, runs: Sequence[Record], departures: tuple[str, ...]
) -> Iterator[Comparison]:
    claimed = [r for r in runs if _follows(r, printed)]
    followers = [r for r in claimed if r.status == "completed"]
    for condition in sorted({name for r in followers for name in r.scores}):
        samples = {
            (r.fold, r.seed): value
            for r in followers
            if (value := _ours(r, condition, printed.metric)) is not None
        }
        origins = {o for r in followers for o in (r.origin, r.condition_origins.get(condition))}
        if not samples or not _is(condition, printed) or "stand-in" in origins:
            continue
        values = replicates(samples, by_fold=len({fold for fold, _ in samples}) > 1)
        differs = (
            *_differences(printed, condition, followers, origins),
            *_shortfall(printed, len(claimed), len(followers), len(values)),
        )
        yield Comparison(
            printed,
            labels.case(followers[0].dataset, followers[0].title),
            method,
            condition,
            mean(values),
            standard_error(values),
            len(samples),
            len(values),
            departures,
            differs,
            sum(r.diagnostics.get("converged") == 0 for r in followers),
            summary(np.array(values)).std if standard_error(values) is not None else None,
            ours(followers),
        )


def _is(condition: str, printed: Published) -> bool:
    """Return whether a condition is the printed one, or the same on a subset of its data."""
    wanted = printed.condition
    return wanted is not None and (condition == wanted or condition.startswith(f"{wanted}_"))


def _differences(
    printed: Published, condition: str, runs: Sequence[Record], origins: set[str | None]
) -> Iterator[str]:
    for profile in sorted({r.profile for r in runs}):
        if not profile.startswith("paper"):
            yield f"profile {profile}, not paper"
    if "subset" in origins:
        yield "a subset of the data"
    if "generated" in origins:
        yield "test images made here, equal to the official ones in law"
    if condition != printed.condition:
        yield f"condition {condition}, not {printed.condition}"
    if any(limited(r) for r in runs):
        yield "a limited number of rows"
    if protocol := declared(printed):
        yield from protocol.differences(printed, runs)
    if printed.doubtful:
        yield f"the printed value is doubtful: {printed.note or 'its scale is not stated'}"


def _shortfall(printed: Published, begun: int, completed: int, repeats: int) -> Iterator[str]:
    """Yield what is missing from the repeats (folds, or seeds of one) of the protocol."""
    if completed < begun:
        yield f"{begun - completed} of {begun} runs not completed"
    if printed.repeats and repeats < min(printed.repeats, FEWEST):
        yield f"{repeats} repeat{'s' * (repeats > 1)}, not {printed.repeats}"


def limited(record: Record) -> bool:
    """Return whether the run saw only some rows of its source, as under `--limit`."""
    return class_name(record.run.get("source")) == "Limited"


def _follows(record: Record, printed: Published) -> bool:
    return any(
        str(entry.get("paper")) == printed.paper
        and str(entry.get("table")).lower().removeprefix("table").strip() == printed.table.lower()
        for entry in record.reproduces
    )


def _ours(record: Record, condition: str, metric: str) -> float | None:
    scores = record.scores.get(condition, {})
    if metric in scores:
        return scores[metric]
    negative = scores.get(NEGATIVE.get(metric, ""))
    return None if negative is None else -negative


def _sequence(value: object) -> Sequence[object]:
    return value if isinstance(value, (list, tuple)) else () if value is None else (value,)
