"""`bnnbench try`: compare your method with the finished runs of all others.

Only your method is fitted, by the protocol of the runs in a bundle: the same data, splits, network
and, if the suite searches for settings, the same budget.
"""

import argparse
import importlib
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bnnbench.commands.terminal.parser import Parser
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.engine.records.record import Record, newest
from bnnbench.engine.store.store import CorruptRecord, Store
from bnnbench.metrics.base import NO_MARGINS
from bnnbench.reports.judge.columns import samples_of, score_under
from bnnbench.reports.judge.comparisons import contest_of
from bnnbench.reports.judge.measures import Judged, judged, main_metrics
from bnnbench.reports.judge.pairs import against
from bnnbench.reports.judge.summaries.costs import costs
from bnnbench.reports.judge.table import Cell
from bnnbench.reports.pages.report.suite_chapter import Order, written_report
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.bundles import holds_bundle, records_of, suites_in
from bnnbench.reports.read.load import Results
from bnnbench.reports.style.numbers import amount
from bnnbench.reports.style.words import joined

BUNDLE = Path(__file__).parents[2] / "docs" / "bundle"
"""The finished runs in a checkout; an installed package has none."""

ARGUMENTS = "bnnbench.commands.running.arguments"

ABOUT = """Fit one method by the protocol of finished runs, and report its place, its distance to
the best, the methods it beats and loses to, and its cost. Options not listed here go to the suite,
such as --folds, --workers or --timeout (bnnbench uci --help)."""

MOST_NAMES = 6


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code of the suite."""
    parser = _Lenient("bnnbench try", description=ABOUT)
    parser.add_argument("method", help="file.py:Class, module:Class or a name, with settings")
    parser.add_argument("--suite", required=True, help="a suite with runs in the bundle")
    parser.add_argument(
        "--profile",
        default="",
        help="default: the profile with most runs, preferably with searched settings",
    )
    parser.add_argument("--datasets", default="", metavar="A,B", help="default: all in the bundle")
    parser.add_argument(
        "--bundle", type=Path, default=BUNDLE, metavar="DIR", help="bundle of finished runs"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("results") / "try", metavar="DIR",
        help="folder for results (results/try)",
    )  # fmt: skip
    options, rest = parser.parse_known_args(arguments)
    try:
        _check_options(options.suite, ["--methods", options.method, *rest])
        methods = _of_files(options.method)
        print(f"Reading the finished runs of {options.suite} in {options.bundle}", flush=True)
        others = rivals(options.bundle, options.suite, options.profile)
        if "--dry-run" not in rest:
            _check_predictions(methods, _kinds(others))
    except (ValueError, CorruptRecord) as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return 2
    profile = others[0].profile
    names = options.datasets or ",".join(sorted({record.dataset for record in others}))
    asked = ["--profile", profile, "--datasets", names, "--methods", options.method]
    code = _carry_out(options.suite, [*asked, "--out", str(options.out), "--no-report", *rest])
    if code not in (0, 3) or "--dry-run" in rest:
        return code
    store = Store(options.out / options.suite)
    readable, _ = store.readable()  # the suite has named the others
    new_runs = [record for record in newest(readable) if record.profile == profile]
    records = beside(new_runs, others)
    everyone = Results(store, (*records, *new_runs), (), ())
    for line in written_report(Order(everyone, NO_MARGINS)).lines:
        print(line)
    labels = _labels(options.suite, profile, options.method)
    tried = [record for record in new_runs if record.method in _of_arm(labels, record.strategy)]
    for line in standing_of(tried, others):
        print(legible(line))
    return code


def _check_options(suite: str, arguments: Sequence[str]) -> None:
    """End the process, as the suite would, for unknown options."""
    suites = importlib.import_module("bnnbench.suites").SUITES
    if suite in suites:
        importlib.import_module(ARGUMENTS).parse(suite, suites[suite], arguments)


def _of_files(request: str) -> dict[str, Any]:
    """Return text → method for the methods named by files and modules, which are imported."""
    from bnnbench.engine.method_settings.expressions import parsed, parts
    from bnnbench.engine.method_settings.requested import method_of  # this imports torch

    return {text: method_of(text) for text in parts(request) if ":" in parsed(text).name}


def _labels(suite: str, profile: str, request: str) -> set[str]:
    """Return the labels of the requested methods in the tables."""
    from bnnbench.engine.method_settings.expressions import parts
    from bnnbench.engine.method_settings.requested import with_methods

    declared = importlib.import_module(f"bnnbench.suites.{suite}").SUITES[profile]
    return {*with_methods(declared, parts(request))["methods"]}


def _of_arm(labels: set[str], arm: str) -> set[str]:
    """Return the labels of methods with an acquisition strategy."""
    return {f"{label}-{arm}" for label in labels} if arm else labels


def _check_predictions(methods: Mapping[str, Any], kinds: Sequence[str]) -> None:
    """Raise ValueError for a method whose predictions on small problems cannot be scored."""
    from bnnbench.engine.workers.base import prepare_small_fits
    from bnnbench.suites.check.predictions import first_fault  # this imports torch

    prepare_small_fits()
    for name, method in methods.items():
        print(f"Checking {name} on a small problem", flush=True)
        if fault := first_fault(method, kinds):
            raise ValueError(
                f"{name} cannot be scored: {fault}. `bnnbench check {name}` runs all checks"
            )


def _kinds(records: Sequence[Record]) -> list[str]:
    """Return the kinds of small problems that match the records."""
    from bnnbench.methods.card import PROBLEMS

    task = "regression" if records[0].circumstances.target else "classification"
    return [kind for kind in PROBLEMS if task in kind]


class _Lenient(Parser):
    """A parser that passes unknown options to the suite's parser, which names the nearest one."""

    parse_known_args = argparse.ArgumentParser.parse_known_args


def rivals(bundle: Path, suite: str, profile: str = "") -> list[Record]:
    """Return the runs of a suite's profile with which a new run can be compared.

    Raises ValueError if the bundle has none, and `CorruptRecord`.
    """
    if not holds_bundle(bundle):
        raise ValueError(
            f"{bundle} is not a bundle: give one with --bundle, such as docs/bundle of a checkout"
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


def _carry_out(suite: str, arguments: Sequence[str]) -> int:
    parser = importlib.import_module(ARGUMENTS)
    suites = importlib.import_module("bnnbench.suites").SUITES
    parsed = parser.parse(suite, suites[suite], arguments)
    declared = importlib.import_module(f"bnnbench.suites.{suite}").SUITES
    return importlib.import_module("bnnbench.commands.suite").run(declared, parsed)


def beside(new_runs: Sequence[Record], others: Sequence[Record]) -> list[Record]:
    """Return the runs of other methods on the splits and seeds of the new runs."""
    places, methods = {_place(r) for r in new_runs}, {r.method for r in new_runs}
    return [r for r in others if _place(r) in places and r.method not in methods]


def standing_of(new_runs: Sequence[Record], others: Sequence[Record]) -> Iterator[str]:
    """Yield the place of each new method on each data set, and its cost.

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
        yield ""
        yield f"{method} compared with the finished runs:"
        if any(record.method == method for record in others):
            yield f"  the bundle also has runs of {method}; the new ones replace them here"
        if len(places) < len(asked):
            yield f"  compared on the {len(places)} of {len(asked)} splits and seeds that it has"
        of = [b for b in benchmarks([*alike, *mine]) if method in b.runs]
        for metric in main_metrics(of):
            for benchmark in of:
                if verdict := judged(benchmark, metric):
                    yield from _standing(verdict, method)
        if (cost := costs(of)) and method in cost.fits:
            base = "" if method == cost.base else f", {cost.times(method)} of {cost.base}"
            yield f"  a fit takes {cost.seconds(method)}{base}"


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
    behind = "" if ordered[0] == method else f"; {gap} behind {ordered[0]}"
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


def _is_constant(cell: Cell) -> bool:
    excluded = cell.standing.excluded
    return excluded is not None and excluded.kind == "constant"
