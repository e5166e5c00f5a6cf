"""Data sets on which a method is clearly worse than a constant prediction."""

from collections.abc import Sequence

from bnnbench.metrics.statistics import mean, replicates
from bnnbench.reports.pages.site.questions import SHIFT
from bnnbench.reports.pages.site.tasks import Column, Scale, Task


def far_below(task: Task, scale: Scale, columns: Sequence[Column], method: str) -> tuple[str, ...]:
    """Return titles of the columns on which a method's mean is over a floor below a constant's.

    None by scores without a floor, by which a constant may be best.
    """
    if scale.floor is None:
        return ()
    return tuple(c.title for c in columns if _gain(task, scale, c, method) < -scale.floor)


def failed_on(task: Task, scale: Scale, columns: Sequence[Column], method: str) -> tuple[str, ...]:
    """Return titles of the columns on which a method fails: `far_below`, but not under shift.

    There all networks may fall below the training frequencies, which is no failure of a method.
    """
    return () if task.question.kind == SHIFT else far_below(task, scale, columns, method)


def _gain(task: Task, scale: Scale, column: Column, method: str) -> float:
    """Return the mean gain over the constant, 0 without one."""
    of = task.scores[scale.name][column.name]
    constant = next((name for name in task.constants if name in of), None)
    if constant is None or method not in of:
        return 0.0
    common = sorted(of[method].keys() & of[constant].keys())
    gains = {
        run: scale.lowered(of[constant][run]) - scale.lowered(of[method][run]) for run in common
    }
    return mean(replicates(gains, column.by_fold)) if gains else 0.0
