"""The data of the board in the form that the page's script reads."""

from collections.abc import Mapping, Sequence
from typing import Any

from bnnbench.reports.judge.participants import FEWEST, Run
from bnnbench.reports.judge.statistics.moderation import (
    FEW_RUNS,
    FEWEST_METHODS,
    winsorised_moments,
)
from bnnbench.reports.pages.drilldown.run_pages import RunPages
from bnnbench.reports.pages.layout import packed, slugs
from bnnbench.reports.pages.site.tasks import Ended, Task
from bnnbench.reports.style.shapes import OUTLINES

KEY_DIGITS = 8
"""Characters of a run's key on a page, enough for `bnnbench repeat` to find the run."""


def board_data(tasks: Sequence[Task], runs: RunPages, keyed: bool = True) -> dict[str, Any]:
    """Return the data of the board: its tasks, packed, and constants of the statistics.

    `runs` has the addresses of pages of runs. A page that is not `keyed` only knows which runs
    exist, and how they ended.
    """
    return {
        "tasks": packed(tasks_data(tasks, runs, keyed)),
        "moments": moments(tasks),
        "outlines": OUTLINES,
    }


def tasks_data(tasks: Sequence[Task], runs: RunPages, keyed: bool = True) -> dict[str, Any]:
    """Return tasks as plain data, with the texts to which they refer by number."""
    texts: dict[str, int] = {}
    as_data = [task_data(task, runs, texts, keyed) for task in tasks]
    return {"tasks": as_data, "keys": list(texts)}


def task_data(
    task: Task, run_pages: RunPages, texts: dict[str, int], keyed: bool = True
) -> dict[str, Any]:
    """Return a task as plain data.

    Tests of the same fits have the same keys: `texts` collects each once, and the task refers to
    them by number.
    """
    shown = _short if keyed else _without_key
    question = task.question
    runs = {column: _all_runs(by_method) for column, by_method in task.keys.items()}
    of_columns = slugs([column.name for column in task.columns])
    return {
        "id": task.name,
        "kind": question.kind,
        "data": question.data,
        "settings": question.settings,
        "scales": [
            {
                "name": scale.name,
                "metric": scale.metric,
                "title": scale.title,
                "unit": scale.unit,
                "up": scale.up,
                "scale": scale.scale,
                "ratio": scale.ratio,
                "margin": scale.margin,
                "floor": scale.floor,
            }
            for scale in task.scales
        ],
        "columns": [
            {
                "id": column.name,
                "slug": slug,
                "title": column.title,
                "fits": column.fits,
                "byFold": column.by_fold,
                "overlap": column.overlap,
                "source": column.source,
                "disjointRows": column.disjoint_rows,
                "rows": column.rows,
                "suite": column.suite,
                "profile": column.profile,
                "origin": column.origin,
                "page": run_pages.get((column.suite, column.benchmark), ""),
                "repeatable": column.repeatable,
                "seeds": column.seeds,
            }
            for column, slug in zip(task.columns, of_columns.values(), strict=True)
        ],
        "methods": list(task.families),
        "families": dict(task.families),
        "constants": task.constants,
        "runs": {c: [f"{fold}.{seed}" for fold, seed in of] for c, of in runs.items()},
        "scores": {
            scale.name: {
                column: {m: [by_run.get(run) for run in runs[column]] for m, by_run in of.items()}
                for column, of in task.scores[scale.name].items()
            }
            for scale in task.scales
        },
        "seconds": task.seconds,
        "ofProcessors": task.of_processors,
        "keys": {
            column: {
                method: texts.setdefault(
                    ",".join(shown(keys.get(run)) for run in runs[column]), len(texts)
                )
                for method, keys in of.items()
            }
            for column, of in task.keys.items()
        },
        "barred": {
            column: {method: [why.kind, why.reason] for method, why in by_method.items()}
            for column, by_method in task.barred.items()
        },
        "unconverged": task.unconverged,
    }


def _all_runs(by_method: Mapping[str, Mapping[Run, Ended]]) -> list[Run]:
    """Return the runs of all methods in order; lists of scores have the same order."""
    return list(dict.fromkeys(run for of in by_method.values() for run in of))


def _short(ended: Ended | None) -> str:
    """Return the start of a key, with the status unless the run was completed; "" for no run."""
    if ended is None:
        return ""
    key = ended.key[:KEY_DIGITS]
    return key if ended.status == "completed" else f"{key} {ended.status}"


def _without_key(ended: Ended | None) -> str:
    """Return "-" in place of the key, with the status unless completed; "" for no run."""
    if ended is None:
        return ""
    return "-" if ended.status == "completed" else f"- {ended.status}"


def moments(tasks: Sequence[Task]) -> dict[int, dict[int, tuple[float, float]]]:
    """Return freedom → methods → moments of winsorised log variances, as far as pages need them."""
    most = max((len(task.families) for task in tasks), default=0)
    return {
        runs - 1: {
            count: winsorised_moments(count, runs - 1) for count in range(FEWEST_METHODS, most + 1)
        }
        for runs in range(FEWEST, FEW_RUNS)
    }
