"""A method's re-runs, as text for its page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bnnbench.engine.store.repetitions import Rerun
from bnnbench.reports.pages.drilldown.run_pages import KEY_DIGITS, RunPages
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style.numbers import significant


@dataclass(frozen=True)
class RepeatedRun:
    """A run that was run again."""

    text: str
    title: str
    """The date, the commit, and whether the processor was a different one."""
    page: str
    """The address of the run's page."""


def repeated_runs_of(
    suite: str,
    benchmarks: Sequence[Benchmark],
    method: str,
    slug: str,
    run_pages: RunPages,
    repeated: Mapping[str, Rerun],
) -> list[RepeatedRun]:
    """Return a method's runs on some data sets of a suite that were run again.

    `slug` identifies the method in addresses.
    """
    return [
        RepeatedRun(
            in_words(one),
            _title(one),
            f"{run_pages[suite, b.identity]}#method={slug}&run={run.key[:KEY_DIGITS]}",
        )
        for b in benchmarks
        for run in b.runs[method]
        if (one := repeated.get(run.key))
    ]


def in_words(rerun: Rerun) -> str:
    """Return the outcome of a re-run as text, such as "0.02 spreads away"."""
    if rerun.outcome == "differs" and rerun.spreads is not None:
        return f"{significant(rerun.spreads, 2)} spreads away"
    if rerun.outcome == "differs":
        return rerun.reason or "differs"
    return rerun.outcome


def _title(rerun: Rerun) -> str:
    if rerun.outcome == "not repeated":
        return rerun.reason
    other = " on another processor" if rerun.cpu != rerun.cpu_of_record else ""
    return f"{rerun.finished[:10]}, commit {rerun.commit[:7]}{other}"
