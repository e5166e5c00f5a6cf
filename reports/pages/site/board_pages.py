"""The board: one page per kind of question, behind the overview, which is the front page."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bnnbench.reports.judge.decision import STATES
from bnnbench.reports.pages.drilldown.run_pages import RunPages
from bnnbench.reports.pages.layout import LIMIT, PageTooLarge, packed, page
from bnnbench.reports.pages.site.answers import answer_to
from bnnbench.reports.pages.site.data import board_data
from bnnbench.reports.pages.site.failures import failures_by_task
from bnnbench.reports.pages.site.league_data import leagues_data
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
    addresses = addresses_of(tasks)
    return {
        (address := addresses[kind]): _board_page(address, asked, addresses, runs, common(address))
        for kind, asked in by_kind.items()
    }


def addresses_of(tasks: Sequence[Task]) -> dict[str, str]:
    """Return kind of question → the address of its page."""
    return {task.question.kind: f"board/{slug(task.question.kind)}.html" for task in tasks}


def _board_page(
    address: str,
    tasks: Sequence[Task],
    kinds: Mapping[str, str],
    runs: RunPages,
    common: dict[str, Any],
) -> str:
    task = usual(tasks)
    answer, leagues = answer_to(task, task.scales[0].name), packed(leagues_data(tasks))

    def written(keyed: bool, most_bytes: float) -> str:
        data = {"kinds": list(kinds.items()), "leagues": leagues}
        data |= board_data(tasks, runs, keyed) | common
        return page(
            *("board.html", address, "bnnbench: which method first?", "Board", data),
            most_bytes=most_bytes,
            answer=answer,
            failures=failures_by_task(tasks),
            states=STATES,
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
