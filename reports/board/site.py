"""A site from a bundle: the board, and a page for each suite, without fitting anything."""

from collections.abc import Mapping, Sequence

from bnnbench.reports.board.advice import advice
from bnnbench.reports.board.data import board_data
from bnnbench.reports.board.pages import page, slugs
from bnnbench.reports.board.questions import QUESTIONS
from bnnbench.reports.board.ranking import ranked
from bnnbench.reports.board.tasks import Task, task_of
from bnnbench.reports.read.benchmarks import Benchmark

Suites = Mapping[str, Sequence[Benchmark]]
"""suite → its benchmarks"""


def tasks_of(suites: Suites) -> list[Task]:
    """Return the tasks that the runs can answer, in the order of the questions."""
    return [task for question in QUESTIONS if (task := task_of(question, suites))]


def usual(tasks: Sequence[Task]) -> Task:
    """Return the task that the board begins with: the first question, in the settings with most
    data sets; in a tie, searched ones, which come first."""
    first = tasks[0].question
    alike = [
        task
        for task in tasks
        if (task.question.kind, task.question.data) == (first.kind, first.data)
    ]
    return max(alike, key=lambda task: len(task.columns))


def board_page(tasks: Sequence[Task], common: Mapping[str, object]) -> str:
    """Return the first page."""
    task = usual(tasks)
    ranking = ranked(task, task.scales[0].name)
    title = "bnnbench: which method first?"
    data = board_data(tasks) | dict(common)
    return page(
        *("board.html", "index.html", title, "Board", data),
        ranking=ranking,
        advice=advice(ranking),
    )


def common_data(suites: Suites) -> dict[str, object]:
    """Return what every page's script needs: names to search for, and the names of pages."""
    methods = dict.fromkeys(m for bs in suites.values() for b in bs for m in b.runs)
    of_methods = slugs(list(methods))
    return {
        "methodPages": list(of_methods.items()),
        "search": [
            *(["method", name, f"methods/{slug}.html"] for name, slug in of_methods.items()),
            *(["suite", name, f"{name}/report.html"] for name in suites),
        ],
    }
