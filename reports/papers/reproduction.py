"""The rules for comparing a printed score with one of ours.

It is shown next to ours only if all runs followed the paper's protocol and finished, on the
original data. If they deviated from it, the score may be shown in a separate table that names the
differences. It is never compared with results on stand-in data.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bnnbench.datasets.conditions import condition_names
from bnnbench.engine.records.record import Record
from bnnbench.metrics.statistics import mean, replicates, summary
from bnnbench.reports.judge.statistics.intervals import standard_error
from bnnbench.reports.papers.protocols import Protocol, declared, has_network, ours
from bnnbench.reports.papers.published import Published, table, table_number
from bnnbench.reports.papers.together import TOGETHER, together
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style import labels
from bnnbench.reports.style.descriptions import class_name
from bnnbench.reports.style.words import counted

FEWEST = 3
"""Minimum number of repeats (folds, or seeds of a single fold) with which our mean may be compared
with one of more repeats."""

CLOSE = 0.2
"""Largest difference of a close number, as a share of the printed value."""

NEGATIVE = {"nll": "log_likelihood", "log_likelihood": "nll"}


@dataclass(frozen=True)
class Comparison:
    """A printed score and ours; `differs` lists why they cannot be compared, if they cannot."""

    published: Published
    dataset: str
    """The title of the data set on pages."""
    method: str
    condition: str
    mean: float
    standard_error: float | None
    runs: int
    repeats: int
    """The number of our folds, or of the seeds of a single fold."""
    departures: tuple[str, ...]
    differs: tuple[str, ...]
    unconverged: int = 0
    """The number of our runs that did not converge, by their own diagnostics."""
    std: float | None = None
    """Standard deviation of our repeats."""
    condition_title: str = ""
    """The condition in running text; "" for the unchanged test split."""
    protocol: Protocol | None = None
    """The protocol of our runs."""
    benchmark: tuple[str, ...] = ()
    """The identity of the benchmark of our runs; () if unknown."""
    profile: str = ""
    """Suite and profile of our runs, such as "uci/paper"."""

    @property
    def difference(self) -> float:
        """Our score minus the printed one."""
        return self.mean - self.published.value

    @property
    def decimals(self) -> int:
        """The number of decimals to show, as in the paper."""
        return self.published.decimals

    @property
    def comparable(self) -> bool:
        """True if our runs can be compared with the printed score, apart from its own spread."""
        return not self.differs and self.standard_error is not None and self.std is not None

    @property
    def close(self) -> bool:
        """Whether our mean is close, and of more repeats than the fewest that are compared.

        It is close within `CLOSE` of the printed value, or within half a unit of its last place.
        """
        rounding = 0.5 * 10.0**-self.decimals * (1 + 1e-9)
        within = max(CLOSE * abs(self.published.value), rounding)
        return abs(self.difference) <= within and self.repeats > FEWEST


@dataclass(frozen=True)
class Reproduction:
    """The comparisons with one table of a paper: either under its protocol, or all others."""

    paper: str
    table: str
    departures: tuple[str, ...]
    """The suite's known deviations from the paper."""
    comparisons: tuple[Comparison, ...]

    @property
    def same_protocol(self) -> bool:
        """True if the printed numbers may be compared with ours."""
        return not any(c.differs for c in self.comparisons)

    @property
    def notes(self) -> list[str]:
        """The remarks on single comparisons, without repetitions."""
        return list(dict.fromkeys(note for c in self.comparisons for note in remarks(c)))

    def numbered(self, comparison: Comparison) -> list[int]:
        """Return the numbers, from 1, of the `notes` on a comparison."""
        return [self.notes.index(note) + 1 for note in remarks(comparison)]


def remarks(comparison: Comparison) -> tuple[str, ...]:
    """Return why two numbers cannot be compared, and doubts about either of them."""
    reasons = list(comparison.differs)
    noted = comparison.published.note
    if noted and not any(noted in text for text in reasons):
        reasons.append(noted)
    printed_repeats = comparison.published.repeats
    if printed_repeats and FEWEST <= comparison.repeats < printed_repeats:
        reasons.append(f"{comparison.repeats} repeats, not {printed_repeats}")
    if comparison.unconverged:
        reasons.append(
            f"{comparison.unconverged} of our {counted(comparison.runs, 'run')} did not converge"
        )
    return tuple(reasons)


def reproductions(benchmarks: Iterable[Benchmark]) -> list[Reproduction]:
    """Return the printed scores with ours, by table; tables with the same protocol come first."""
    groups: dict[tuple[bool, str, str, tuple[str, ...]], list[Comparison]] = {}
    for benchmark in benchmarks:
        for comparison in comparisons(benchmark):
            theirs = comparison.published
            place = (bool(comparison.differs), theirs.paper, theirs.table, comparison.departures)
            groups.setdefault(place, []).append(comparison)
    return [Reproduction(*place[1:], tuple(groups[place])) for place in sorted(groups, key=_order)]


def _order(place: tuple[bool, str, str, tuple[str, ...]]) -> tuple[object, ...]:
    """Return a key that sorts table 2 before table 10."""
    differs, paper, number, departures = place
    return differs, paper, len(number), number, departures


def comparisons(benchmark: Benchmark) -> Iterator[Comparison]:
    """Return the printed scores of the tables that the benchmark follows, each with ours."""
    for printed, method, departures in _printed_for(benchmark):
        for comparison in _compared(printed, method, benchmark.runs[method], departures):
            yield replace(comparison, benchmark=benchmark.identity)


def diverged(benchmarks: Iterable[Benchmark]) -> set[Published]:
    """Return the printed scores for which all our runs under their protocol diverged."""
    ended = set()
    for benchmark in benchmarks:
        for printed, method, _ in _printed_for(benchmark):
            claimed = [r for r in benchmark.runs[method] if _follows(r, printed)]
            if claimed and all(r.outcome.status == "diverged" for r in claimed):
                ended.add(printed)
    return ended


def _printed_for(benchmark: Benchmark) -> Iterator[tuple[Published, str, tuple[str, ...]]]:
    """Return the printed scores that the benchmark follows, our method, and its deviations."""
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
            for method in benchmark.runs:
                if method.casefold() == printed.method and printed.model in columns[method]:
                    yield printed, method, departures


def _columns(models: set[str], runs: Sequence[Record]) -> set[str]:
    """Return the networks of a table that our runs have or may have; all if they have none.

    A paper need not name the network of a number.
    """
    known = {model: {has_network(run, model) for run in runs} for model in models}
    if {True} not in known.values():
        return models
    return {model for model, answers in known.items() if answers in ({True}, {None})}


def _compared(
    printed: Published, method: str, runs: Sequence[Record], departures: tuple[str, ...]
) -> Iterator[Comparison]:
    claimed = [r for r in runs if _follows(r, printed)]
    followers = [r for r in claimed if r.outcome.status == "completed"]
    for condition in sorted({name for r in followers for name in r.outcome.scores}):
        if not _is(condition, printed, followers[0]):
            continue
        samples, of_networks = _samples(printed, condition, followers)
        origins = {
            o
            for r in followers
            for o in (r.circumstances.origin, r.circumstances.condition_origins.get(condition))
        }
        if not samples or "stand-in" in origins:
            continue
        values = replicates(samples, by_fold=len({fold for fold, _ in samples}) > 1)
        differs = (
            *_differences(printed, condition, followers, origins),
            *_shortfall(printed, len(claimed), len(followers), len(values)),
            *of_networks,
        )
        yield Comparison(
            printed,
            labels.case(followers[0].dataset, followers[0].title),
            method,
            condition,
            mean(values),
            standard_error(values),
            len(followers) if printed.metric in TOGETHER else len(samples),
            len(values),
            departures,
            differs,
            sum(r.outcome.unconverged for r in followers),
            summary(np.array(values)).std if standard_error(values) is not None else None,
            _title(condition, followers[0]),
            ours(followers),
            profile=f"{followers[0].suite}/{followers[0].profile}",
        )


def _samples(
    printed: Published, condition: str, runs: Sequence[Record]
) -> tuple[dict[tuple[int, int], float], tuple[str, ...]]:
    """Return our values by fold and seed, and how they differ in kind from the printed one.

    A number computed from several networks has one value per fold, with seed 0.
    """
    if printed.metric in TOGETHER:
        by_fold, differs = together(printed, runs, condition)
        return {(fold, 0): value for fold, value in by_fold.items()}, differs
    values = {(r.fold, r.seed): _ours(r, condition, printed.metric) for r in runs}
    return {place: value for place, value in values.items() if value is not None}, ()


def _is(condition: str, printed: Published, run: Record) -> bool:
    """Return whether a condition is the printed one, or the same on a subset of its data."""
    variant_of = run.circumstances.condition_traits.get(condition, {}).get("variant_of")
    if variant_of and condition in _unnormalised(run):
        variant_of += condition_names.UNNORMALISED
    return printed.condition is not None and printed.condition in (condition, variant_of)


def _unnormalised(run: Record) -> set[str]:
    """Return the names of conditions whose inputs are not normalised like the training inputs."""
    conditions: list[Any] = [evaluation["condition"] for evaluation in run.evaluations]
    return {
        condition_names.out_of_distribution(condition["source"]["type"], normalised=False)
        for condition in conditions
        if condition.get("normalised") is False
    }


def _title(condition: str, run: Record) -> str:
    traits = run.circumstances.condition_traits.get(condition, {})
    return "" if traits.get("clean") else str(traits.get("title", condition))


def _differences(
    printed: Published, condition: str, runs: Sequence[Record], origins: set[str | None]
) -> Iterator[str]:
    for profile in sorted({r.profile for r in runs if not _carries_out(r, printed)}):
        yield f"profile {profile}, which is smaller than the paper's"
    if "subset" in origins:
        yield "a subset of the data"
    if "generated" in origins and any(run.circumstances.origin != "generated" for run in runs):
        yield "test images generated here, with the same distribution as the official ones"
    if condition != printed.condition:
        yield f"condition {condition}, not {printed.condition}"
    if any(limited(r) for r in runs):
        yield "a limited number of rows"
    if protocol := declared(printed):
        yield from protocol.differences(printed, runs)
    if printed.doubtful:
        yield f"the printed value is doubtful: {printed.note or 'its scale is not stated'}"


def _shortfall(printed: Published, begun: int, completed: int, repeats: int) -> Iterator[str]:
    """Yield the repeats (folds, or seeds of a single fold) that our runs lack."""
    if completed < begun:
        yield f"{begun - completed} of {counted(begun, 'run')} not completed"
    if printed.repeats and repeats < min(printed.repeats, FEWEST):
        yield f"{repeats} repeat{'s' * (repeats > 1)}, not {printed.repeats}"


def limited(record: Record) -> bool:
    """Return whether the run used only some rows of its source, as under `--limit`."""
    return class_name(record.run.get("source")) == "Limited"


def _follows(record: Record, printed: Published) -> bool:
    """Return whether a run follows the protocol of a printed table, at least in part."""
    return (printed.paper, table_number(printed.table)) in _claims(record)


def _carries_out(record: Record, printed: Published) -> bool:
    """Return whether a run follows the protocol of a whole printed table."""
    return any(
        claim == (printed.paper, table_number(printed.table)) and entry.get("whole", True)
        for claim, entry in zip(_claims(record), record.reproduces, strict=True)
    )


def _claims(record: Record) -> list[tuple[str, str]]:
    """Return paper and number of the tables that a run's suite reproduces."""
    return [
        (str(entry.get("paper")), table_number(str(entry.get("table"))))
        for entry in record.reproduces
    ]


def _ours(record: Record, condition: str, metric: str) -> float | None:
    scores = record.outcome.scores.get(condition, {})
    if metric in scores:
        return scores[metric]
    negative = scores.get(NEGATIVE.get(metric, ""))
    return None if negative is None else -negative


def _sequence(value: object) -> Sequence[object]:
    return value if isinstance(value, (list, tuple)) else () if value is None else (value,)
