"""Finished runs with which `bnnbench try` compares a method, and the method's standing."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from bnnbench.commands.reporting.place import place_of
from bnnbench.engine.records.record import Record
from bnnbench.reports.judge.columns import samples_of, score_under
from bnnbench.reports.judge.comparisons import contest_of
from bnnbench.reports.judge.conclusion import evidence_of
from bnnbench.reports.judge.measures import Judged, judged, main_metrics
from bnnbench.reports.judge.over_sets.grades import grade
from bnnbench.reports.judge.pairs import against
from bnnbench.reports.judge.table import Cell
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.bundles import holds_bundle, records_of, suites_in
from bnnbench.reports.style.numbers import amount
from bnnbench.reports.style.words import joined

MOST_NAMES = 6


def stored(bundle: Path, suite: str, profile: str = "") -> list[Record]:
    """Return the runs of a suite's profile with which a new run can be compared.

    Raises ValueError if the bundle has none, and `CorruptRecord`.
    """
    if not holds_bundle(bundle):
        raise ValueError(
            f"{bundle} is not a bundle: give one with --bundle; without this option, the finished "
            "runs of bnnbench are used"
        )
    folders = suites_in(bundle)
    if suite not in folders:
        raise ValueError(f"the bundle has no runs of {suite!r}; it has {joined(sorted(folders))}")
    of_suite = [record for folder in folders[suite] for record in records_of(folder)]
    whole = [record for record in of_suite if record.run.get("source")]
    if not whole:
        raise ValueError(f"no run of {suite} in the bundle has its settings; use another bundle")
    profiles = list(dict.fromkeys(record.profile for record in whole))
    if profile and profile not in profiles:
        raise ValueError(
            f"the bundle has no profile {profile!r} of {suite}; it has {joined(profiles)}"
        )
    profile = profile or usual_profile(whole)
    return [record for record in whole if record.profile == profile]


def usual_profile(records: Sequence[Record]) -> str:
    """Return the profile with most methods on most data sets; among equals, with most runs.

    Only profiles with searched settings count, if there are any.
    """
    searched = [record for record in records if record.outcome.search] or records
    runs = Counter(record.profile for record in searched)
    places = Counter(p for p, *_ in {(r.profile, r.dataset, r.method) for r in searched})
    return max(runs, key=lambda profile: (places[profile], runs[profile]))


def beside(new_runs: Sequence[Record], others: Sequence[Record]) -> list[Record]:
    """Return the runs of other methods on the splits and seeds of the new runs."""
    places, methods = {_place(r) for r in new_runs}, {r.method for r in new_runs}
    return [r for r in others if _place(r) in places and r.method not in methods]


def standing_of(
    new_runs: Sequence[Record],
    others: Sequence[Record],
    details: bool = False,
    with_yardsticks: bool = False,
) -> Iterator[str]:
    """Yield the place and the cost of each new method, with `details` also on each data set.

    Each is compared with all other methods on its own splits and seeds; a method of the bundle
    that was run again is represented only by its new runs.
    """
    for method in dict.fromkeys(record.method for record in new_runs):
        mine = [record for record in new_runs if record.method == method]
        again = [record for record in new_runs if record.method != method]
        names = {record.method for record in new_runs}
        alike = beside(mine, [*again, *(r for r in others if r.method not in names)])
        datasets = {record.dataset for record in mine}
        places = {_place(record) for record in mine}
        asked = {_place(record) for record in others if record.dataset in datasets} | places
        of = [b for b in benchmarks([*alike, *mine]) if method in b.runs]
        yield ""
        if details:
            yield f"{method} compared with each method:"
            for metric in main_metrics(of):
                for benchmark in of:
                    if result := judged(benchmark, metric):
                        yield from _standing(result, method)
        yield from place_of(method, of, with_yardsticks)
        if any(record.method == method for record in others):
            yield f"The finished runs of {method} are replaced by the new ones here."
        if len(places) < len(asked):
            yield f"All are compared on its {len(places)} of {len(asked)} splits and seeds."


def _place(record: Record) -> tuple[str, int, int]:
    return record.dataset, record.fold, record.seed


def _standing(verdict: Judged, method: str) -> Iterator[str]:
    benchmark, column = verdict.benchmark, verdict.column
    name = f"  {benchmark.title}, {verdict.name}: "
    if method not in verdict.cells:
        yield f"{name}no score"
        return
    cells = {m: c for m, c in verdict.cells.items() if not _is_constant(c) or m == method}
    sign = -1.0 if column.higher_is_better else 1.0
    ordered = sorted(cells, key=lambda m: sign * cells[m].mean)
    best, cell = cells[ordered[0]], cells[method]
    place = f"place {ordered.index(method) + 1} of {len(ordered)} by mean, {cell.mean:.4g}"
    half = f" ± {cell.half_width:.2g}" if cell.half_width is not None else ""
    gap = amount(abs(cell.mean - best.mean) * column.scale, column.unit)
    behind = f"; {gap} behind {ordered[0]}" if ordered[0] != method else _graded(verdict, method)
    yield f"{name}{place}{half}{behind}"
    if cell.standing.excluded:
        yield f"    not compared: {cell.standing.excluded.reason}"
        return
    value = score_under(verdict.condition, verdict.metric)
    samples = {m: samples_of(runs, value) for m, runs in benchmark.runs.items()}
    better = bool(column.higher_is_better)
    outcome = against(contest_of(benchmark, verdict.metric, better, samples), method)
    if outcome is None:
        yield "    nothing was tested: too few runs in common"
        return
    parts = (
        ("beats", outcome.beats),
        ("loses to", outcome.loses_to),
        ("cannot be told from", outcome.undecided),
        ("has exactly the scores of", outcome.identical),
    )
    for verb, names in parts:
        if names:
            yield f"    {verb} {joined(names, MOST_NAMES)}"


def _graded(verdict: Judged, method: str) -> str:
    """Return the grade of a method with the best mean; "" if nothing was tested."""
    decision = verdict.decision
    if method not in decision.leaders or not decision.question:
        return ""
    return f"; {grade(evidence_of(decision))}"


def _is_constant(cell: Cell) -> bool:
    excluded = cell.standing.excluded
    return excluded is not None and excluded.kind == "constant"
