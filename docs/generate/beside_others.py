"""For documents: our methods compared with scores that others published on the same folds."""

from collections.abc import Iterator, Mapping

from bnnbench.reports.papers.literature import SOURCES
from bnnbench.reports.sections.literature import comparison
from docs.generate.finished_runs import suites

Options = Mapping[str, str]
HEADINGS = ("data set", "method", "ours", "theirs", "ours minus theirs", "folds", "ours is")


def literature_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each data set and method of a UCI profile.

    The scores are of one metric. Differences are paired by fold, with 95 % intervals that allow for
    the overlap of training sets.
    """
    methods, metrics = options["methods"].split(","), [options["metric"]]
    yield HEADINGS
    yield ("---", "---", *("---:" for _ in HEADINGS[2:-1]), "---")
    for benchmark in suites()["uci"]:
        if benchmark.profile == options["profile"]:
            for source in SOURCES:
                for method, _, *cells in comparison(benchmark, source, methods, metrics):
                    name = benchmark.dataset.replace("_", " ")
                    yield name, method, *(cell.replace("-", "−") for cell in cells)
