"""The failures behind a question of the board: worse than the constant, diverged or failed."""

from collections.abc import Iterator, Sequence

from bnnbench.reports.judge.summaries.shortfalls import Shortfall, gains_over
from bnnbench.reports.pages.site.tasks import Column, Task
from bnnbench.reports.sections.base import Listing
from bnnbench.reports.sections.failures import over_sets


def failures_of(task: Task) -> Listing | None:
    """Return a row for each method that falls short somewhere; None if none does."""
    return over_sets(_shortfalls(task), f"{task.question.data}, settings {task.question.settings}")


def failures_by_task(tasks: Sequence[Task]) -> dict[str, Listing]:
    """Return name of a task → its failures, for tasks with failures."""
    return {task.name: listing for task in tasks if (listing := failures_of(task))}


def _shortfalls(task: Task) -> Iterator[Shortfall]:
    """Yield the shortfall of each method in each column; fits of several columns count once."""
    firsts = {column.fits: column.name for column in reversed(task.columns)}
    for method in task.families:
        if method not in task.constants:
            for column in task.columns:
                ends = task.keys[column.name].get(method, {}).values()
                known = [end.status for end in ends] if firsts[column.fits] == column.name else []
                counts = known.count("diverged"), known.count("failed")
                yield Shortfall(method, column.title, _gains(task, column, method), *counts)


def _gains(task: Task, column: Column, method: str) -> tuple[float, ...]:
    """Return the gains in nats; empty without a constant or a likelihood."""
    scale = next((scale for scale in task.scales if scale.name == "likelihood"), None)
    if scale is None:
        return ()
    of = task.scores[scale.name][column.name]
    constant = next((name for name in task.constants if name in of), None)
    if constant is None or method not in of:
        return ()
    ours, theirs = (
        {run: -scale.lowered(value) for run, value in of[name].items()}
        for name in (method, constant)
    )
    return gains_over(ours, theirs, column.by_fold)
