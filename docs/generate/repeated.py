"""For documents: the folders of docs/bundle, and repeated runs of the bundle."""

from collections import Counter
from collections.abc import Iterator, Sequence

from bnnbench.datasets.names import title_of
from bnnbench.engine.records.record import Record
from bnnbench.engine.store.repetitions import Rerun
from bnnbench.reports.pages.methods.repeated_runs import in_words
from bnnbench.reports.read.bundles import bundle_folders, repeated_runs
from bnnbench.reports.style import labels
from docs.generate.finished_runs import BUNDLE, records, suites
from docs.generate.measured import Options

NEAR = {0.1: "less than a tenth of a spread", 1.0: "less than a spread"}
"""Distance in spreads → the column of runs that moved less."""
FAR, FAILED, NOT_REPEATED = "more", "failed, or other data", "not repeated"
COLUMNS = ("identical", "within rounding", *NEAR.values(), FAR, FAILED, NOT_REPEATED)


def repeated_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule, a row for each suite and one for all: counts of methods.

    A method counts once in each profile and bundle; the last column counts methods without a
    repeated run.
    """
    counts = {suite: _counts(suite) for suite in suites()}
    yield ("suite", *COLUMNS)
    yield ("---", *("---:" for _ in COLUMNS))
    for suite, of_suite in counts.items():
        yield labels.suite(suite), *(str(of_suite.get(column) or "") for column in COLUMNS)
    totals = (sum(of_suite.get(column, 0) for of_suite in counts.values()) for column in COLUMNS)
    yield "**all**", *(f"**{total}**" for total in totals)


def apart_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each repeated run that moved a spread or more."""
    yield "method", "data", "suite, profile", "score", "recorded", "repeated", "spreads", "key"
    yield "---", "---", "---", "---", "---:", "---:", "---:", "---"
    repeated = repeated_runs(BUNDLE)
    places = {r.key: suite for suite, bs in suites().items() for b in bs for r in b.records}
    apart = [r for r in repeated.values() if _column(r) in (FAR, FAILED)]
    for one in sorted(apart, key=lambda r: (-(r.spreads or 0.0), r.key)):
        pair = (one.recorded, one.repeated)
        yield (
            *(one.method, one.dataset, f"{places[one.key]}, {one.profile}"),
            one.score or one.reason,
            *("" if value is None else f"{value:.4g}" for value in pair),
            "" if one.spreads is None else f"{one.spreads:.2g}",
            f"`{one.key[:8]}`",
        )


def repeated_text(options: Options) -> str:
    """Return how many runs were repeated, when and by which code, and how many are identical."""
    repeated = [r for r in repeated_runs(BUNDLE).values() if r.outcome != "not repeated"]
    days = sorted({r.finished[:10] for r in repeated})
    commits = sorted({r.commit[:7] for r in repeated})
    span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    here, elsewhere = (
        [r.outcome for r in repeated if (r.cpu == r.cpu_of_record) == same]
        for same in (True, False)
    )
    return (
        f"{len(repeated)} runs were repeated, {span}, with the code of {', '.join(commits)}. "
        "On the kind of processor that recorded them, "
        f"{here.count('identical')} of {len(here)} are "
        f"identical. Of {len(elsewhere)} that another kind recorded, "
        f"{elsewhere.count('identical')} are identical and "
        f"{elsewhere.count('within rounding')} are within rounding.\n"
    )


def _counts(suite: str) -> dict[str, int]:
    repeated = repeated_runs(BUNDLE)
    counts: dict[str, int] = {}
    runs_of: dict[tuple[str, str], list[str]] = {}
    for benchmark in suites()[suite]:
        for record in benchmark.records:
            runs_of.setdefault((record.profile, record.method), []).append(record.key)
    for keys in runs_of.values():
        of_method: Sequence[Rerun] = [repeated[key] for key in keys if key in repeated]
        for column in [_column(one) for one in of_method] or [NOT_REPEATED]:
            counts[column] = counts.get(column, 0) + 1
    return counts


def _column(rerun: Rerun) -> str:
    """Return the column in which a repeated run is counted."""
    if rerun.outcome != "differs":
        return in_words(rerun)
    if rerun.spreads is None:
        return FAILED
    return next((column for limit, column in NEAR.items() if rerun.spreads < limit), FAR)


LONGEST_LIST = 60


def folders_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule, a row for each profile of each folder, and the sum."""
    yield "folder", "suite", "profile", "data sets", "methods", "folds", "seeds", "runs"
    yield "---", "---", "---", "---", "---:", "---:", "---:", "---:"
    total = 0
    for folder in bundle_folders(BUNDLE):
        by_profile: dict[str, list[Record]] = {}
        for record in records(folder.name):
            by_profile.setdefault(record.profile, []).append(record)
        for place, (profile, runs) in enumerate(by_profile.items()):
            total += len(runs)
            name = f"`{folder.name}`" if place == 0 else ""
            counts = (_most(runs, "fold"), _most(runs, "seed"))
            methods = len({run.method for run in runs})
            suite = f"`{runs[0].suite}`"
            yield (
                *(name, suite, f"`{profile}`", _sets(runs), str(methods)),
                *map(str, counts),
                f"{len(runs):,}",
            )
    yield "all", *[""] * 6, f"{total:,}"


def _sets(runs: Sequence[Record]) -> str:
    """Return the titles of the data sets, or their number if the list would be long."""
    titles = dict.fromkeys(title_of(run.dataset) for run in runs)
    listed = ", ".join(titles)
    return listed if len(listed) <= LONGEST_LIST else str(len(titles))


def _most(runs: Sequence[Record], name: str) -> int:
    """Return the largest number of folds, or of seeds, that a method has on a data set."""
    distinct = {(run.method, run.dataset, getattr(run, name)) for run in runs}
    return max(Counter((method, dataset) for method, dataset, _ in distinct).values())
