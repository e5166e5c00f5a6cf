"""A table of the folders of docs/bundle."""

from collections import Counter
from collections.abc import Iterator, Sequence

from bnnbench.datasets.names import title_of
from bnnbench.engine.records.record import Record
from bnnbench.reports.read.bundles import bundle_folders
from docs.generate.finished_runs import BUNDLE, records
from docs.generate.measured import Options

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
