"""The failures of a method according to its records; every statement has a count."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bnnbench.engine.records.record import Record
from bnnbench.reports.judge.measures import Judged, judged, main_metrics
from bnnbench.reports.pages.drilldown.run_pages import Place
from bnnbench.reports.pages.methods.confidence import below_constant, confidence
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.exclusions import unconverged
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import significant
from bnnbench.reports.style.words import counted, plural

MOST = 3
"""Maximum number of data sets named for a failure; the worst ones are named."""

Verdicts = Mapping[Place, Sequence[Judged]]
"""Benchmark → the verdicts by its main metrics."""


@dataclass(frozen=True)
class Entry:
    """The runs of a method in a benchmark."""

    suite: str
    benchmark: Benchmark
    method: str

    @property
    def runs(self) -> Sequence[Record]:
        """The runs."""
        return self.benchmark.runs[self.method]

    @property
    def title(self) -> str:
        """Data set, suite and profile in running text, and whether settings were searched."""
        b = self.benchmark
        setting = f", {b.setting}" if b.setting else ""
        searched = ", settings searched" if any(run.outcome.search for run in b.records) else ""
        return f"{b.title}{setting} ({self.suite}, {b.profile}{searched})"


@dataclass(frozen=True)
class Instance:
    """A data set on which a method fails, and the numbers that show it."""

    entry: Entry
    text: str
    size: float
    """Severity, to order the instances of a failure."""


@dataclass(frozen=True)
class Failure:
    """One way in which a method fails, with the data sets on which it is worst."""

    condition: str
    instances: Sequence[Instance]

    @property
    def named(self) -> Sequence[Instance]:
        """The worst instances, at most `MOST`."""
        return sorted(self.instances, key=lambda instance: -instance.size)[:MOST]


def verdicts_of(suites: Mapping[str, Sequence[Benchmark]]) -> Verdicts:
    """Return the verdicts on all benchmarks, from suite → its benchmarks."""
    return {
        (suite, b.identity): [v for m in main_metrics([b]) if (v := judged(b, m))]
        for suite, benchmarks in suites.items()
        for b in benchmarks
    }


def failures_of(entries: Sequence[Entry], verdicts: Verdicts) -> list[Failure]:
    """Return the failures in these runs of a method, incomplete and unconverged runs first."""
    failures = [
        *(_ended(entries, status) for status in ("diverged", "failed")),
        _counted(entries, unconverged, "did not converge by their own diagnostics"),
        _below_constants(entries),
        *_confidences(entries),
        *_worse(entries, verdicts),
    ]
    return [failure for failure in failures if failure and failure.instances]


def _ended(entries: Sequence[Entry], status: str) -> Failure | None:
    return _counted(entries, lambda runs: sum(run.outcome.status == status for run in runs), status)


def _counted(
    entries: Sequence[Entry], count: Callable[[Sequence[Record]], int], ending: str
) -> Failure:
    """Return the number of counted runs as a share of all runs."""
    instances = [
        Instance(entry, f"{n} of {counted(len(entry.runs), 'run')}", n / len(entry.runs))
        for entry in entries
        if (n := count(entry.runs))
    ]
    total = sum(count(entry.runs) for entry in entries)
    of = sum(len(entry.runs) for entry in entries)
    return Failure(f"{total} of {counted(of, 'run')} {ending}", instances)


def _below_constants(entries: Sequence[Entry]) -> Failure:
    """Return the data sets on which a constant prediction has a higher likelihood."""
    gains = [(e, below) for e in entries if (below := below_constant(e.benchmark, e.method))]
    instances = [Instance(e, below.text, -below.gap) for e, below in gains if below.shown]
    places = on_sets(len(instances), len(gains))
    return Failure(f"Less likelihood than a constant prediction {places}", instances)


def _confidences(entries: Sequence[Entry]) -> Iterator[Failure]:
    """Yield the data sets with overconfident predictions, and those with underconfident ones."""
    telling = [(e, told) for e in entries if (told := confidence(e.benchmark, e.method))]
    for sign, condition in ((-1, "Too sure"), (1, "Not sure enough")):
        instances = [
            Instance(e, told.text, abs(told.gap))
            for e, told in telling
            if told.shown and sign * told.gap > 0
        ]
        yield Failure(f"{condition} {on_sets(len(instances), len(telling))}", instances)


def _worse(entries: Sequence[Entry], verdicts: Verdicts) -> Iterator[Failure]:
    """Yield, metric by metric, the data sets on which the method is shown to be worse."""
    by_metric: dict[str, list[tuple[Entry, Judged]]] = {}
    for entry in entries:
        for verdict in verdicts[entry.suite, entry.benchmark.identity]:
            cell = verdict.cells.get(entry.method)
            if cell and cell.standing.excluded is None and cell.standing.state:
                name = labels.in_text(verdict.metric)
                by_metric.setdefault(name, []).append((entry, verdict))
    for name, compared in by_metric.items():
        instances = [
            _behind(entry, verdict)
            for entry, verdict in compared
            if verdict.cells[entry.method].standing.state == "worse"
        ]
        yield Failure(f"Worse than the best {on_sets(len(instances), len(compared))} by {name}",
                      instances)  # fmt: skip


def _behind(entry: Entry, verdict: Judged) -> Instance:
    column, decision = verdict.column, verdict.decision
    leader = decision.leaders[0]
    cell = verdict.cells[entry.method]
    ours, best = (significant(column.scale * verdict.cells[m].mean) for m in (entry.method, leader))
    unit = {"%": " %", "": ""}.get(column.unit, "")
    return Instance(
        entry,
        f"{ours}{unit}; {leader} has {best}{unit}",
        cell.standing.gap / (decision.margin or 1.0),
    )


def on_sets(part: int, whole: int) -> str:
    """Return "on 2 of 9 data sets"."""
    return f"on {part} of {whole} {plural('data set', whole)}"
