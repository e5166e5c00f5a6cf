"""The page that compares any two methods: differences, replicates, and settings."""

from collections.abc import Mapping, Sequence
from typing import Any

from bnnbench.reports.pages.drilldown.run_pages import NO_PAGES, RunPages
from bnnbench.reports.pages.layout import packed, page
from bnnbench.reports.pages.site.data import board_data
from bnnbench.reports.pages.site.tasks import Task
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style.descriptions import class_name, flatten

NO_SUITES: Mapping[str, Sequence[Benchmark]] = {}


def compare_page(
    address: str,
    tasks: Sequence[Task],
    common: dict[str, Any],
    examples: RunPages = NO_PAGES,
    suites: Mapping[str, Sequence[Benchmark]] = NO_SUITES,
) -> str:
    """Return the page that compares any two methods, with links to pages of examples.

    It needs no keys, only which runs exist; settings are read from the records of `suites`.
    """
    data = board_data(tasks, examples, keyed=False)
    settings = packed(settings_data(tasks, suites))
    title = "Compare · bnnbench"
    return page("compare.html", address, title, "Compare", data | {"settings": settings} | common)


def settings_data(
    tasks: Sequence[Task], suites: Mapping[str, Sequence[Benchmark]]
) -> dict[str, Any]:
    """Return all different settings, and which of them each method has in a task's columns.

    Settings are flat, with the class of the method first; None if a record stores none.
    """
    benchmarks = {(suite, b.identity): b for suite, of in suites.items() for b in of}
    known: dict[str, int] = {}
    listed: list[dict[str, str] | None] = []
    of_tasks: dict[str, dict[str, dict[str, int]]] = {}
    for task in tasks:
        of_columns = of_tasks.setdefault(task.name, {})
        for column in task.columns:
            benchmark = benchmarks.get((column.suite, column.benchmark))
            for method, runs in benchmark.runs.items() if benchmark else ():
                description = runs[0].run.get("method")
                text = str(description)
                if text not in known:
                    known[text] = len(listed)
                    listed.append(_flat(description))
                of_columns.setdefault(column.name, {})[method] = known[text]
    return {"listed": listed, "of": of_tasks}


def _flat(description: object) -> dict[str, str] | None:
    if not isinstance(description, Mapping) or len(description) < 2:
        return None
    return {"class": class_name(description)} | flatten(description)
