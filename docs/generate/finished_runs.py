"""The runs in docs/bundle, read once for all documents."""

import functools
import gc
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bnnbench.engine.records.record import Record
from bnnbench.reports.pages.site.site import tasks_of
from bnnbench.reports.pages.site.tasks import Task
from bnnbench.reports.papers.coverage import PrintedTable, coverage
from bnnbench.reports.read.benchmarks import Benchmark, benchmarks
from bnnbench.reports.read.bundles import bundle_folders, records_of

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "docs" / "bundle"


@functools.cache
def records(folder: str) -> Sequence[Record]:
    """Return the runs of one folder of docs/bundle."""
    return records_of(BUNDLE / folder)


@functools.cache
def suites() -> Mapping[str, Sequence[Benchmark]]:
    """Return suite → its benchmarks."""
    by_suite: dict[str, list[Record]] = {}
    for folder in bundle_folders(BUNDLE):
        for record in records(folder.name):
            by_suite.setdefault(record.suite, []).append(record)
    gc.freeze()  # Millions of objects stay alive: later collections need not look at them.
    return {suite: benchmarks(by_suite[suite]) for suite in sorted(by_suite)}


@functools.cache
def tasks() -> Sequence[Task]:
    """Return the board's questions, in its order."""
    return tasks_of(suites())


@functools.cache
def printed_tables(profile: str = "", variant: str = "") -> Sequence[PrintedTable]:
    """Return the printed tables of all papers together with our runs, or with one profile's runs.

    With a `variant`, such as "less noise", runs named "HMC (less noise)" count as runs of "HMC".
    """
    if not profile and not variant:
        return coverage(suites())
    return coverage(
        {
            suite: benchmarks(_chosen([r for b in found for r in b.records], profile, variant))
            for suite, found in suites().items()
        }
    )


def _chosen(records: Sequence[Record], profile: str, variant: str) -> list[Record]:
    of_profile = [r for r in records if profile in ("", r.profile)]
    name = f" ({variant})"
    if not variant:
        return of_profile
    return [replace(r, method=r.method.replace(name, "")) for r in of_profile if name in r.method]
