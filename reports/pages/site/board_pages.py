"""The board: one page per kind of question; the first is also the first page of the site."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bnnbench.reports.pages.drilldown.run_pages import RunPages
from bnnbench.reports.pages.layout import LIMIT, PageTooLarge, page
from bnnbench.reports.pages.site.advice import advice
from bnnbench.reports.pages.site.data import board_data
from bnnbench.reports.pages.site.failures import failures_by_task
from bnnbench.reports.pages.site.ranking import ranked
from bnnbench.reports.pages.site.tasks import Task
from bnnbench.reports.style.numbers import slug


def board_pages(
    tasks: Sequence[Task], runs: RunPages, common: Callable[[str], dict[str, Any]]
) -> dict[str, str]:
    """Return address → page; each has the tasks of its kind and the addresses of the others.

    `runs` has the addresses of pages of runs; `common` returns the data common to all pages at an
    address.
    """
    by_kind: dict[str, list[Task]] = {}
    for task in tasks:
        by_kind.setdefault(task.question.kind, []).append(task)
    addresses = {
        kind: f"board/{slug(kind)}.html" if k else "index.html" for k, kind in enumerate(by_kind)
    }
    return {
        (address := addresses[kind]): _board_page(address, asked, addresses, runs, common(address))
        for kind, asked in by_kind.items()
    }


def _board_page(
    address: str,
    tasks: Sequence[Task],
    kinds: Mapping[str, str],
    runs: RunPages,
    common: dict[str, Any],
) -> str:
    task = usual(tasks)
    ranking = ranked(task, task.scales[0].name)

    def written(keyed: bool, most_bytes: float) -> str:
        data = {"kinds": list(kinds.items())} | board_data(tasks, runs, keyed) | common
        return page(
            *("board.html", address, "bnnbench: which method first?", "Board", data),
            most_bytes=most_bytes,
            failures=failures_by_task(tasks),
            ranking=ranking,
            advice=advice(ranking),
        )

    try:
        return written(keyed=True, most_bytes=LIMIT)
    except PageTooLarge:  # the keys are on the pages of runs as well
        return written(keyed=False, most_bytes=math.inf)


def usual(tasks: Sequence[Task]) -> Task:
    """Return the task that a page begins with.

    It is the first question, with the settings that cover the most data sets; in a tie, the
    searched ones, which come first.
    """
    first = tasks[0].question
    alike = [
        task
        for task in tasks
        if (task.question.kind, task.question.data) == (first.kind, first.data)
    ]
    return max(alike, key=lambda task: len(task.columns))
