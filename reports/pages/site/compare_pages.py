"""The page that compares any two methods: differences, replicates, and settings."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, UInt64
from numpy import ndarray

from bnnbench.reports.pages.drilldown.run_pages import NO_PAGES, RunPages
from bnnbench.reports.pages.layout import packed, packed_bytes, page
from bnnbench.reports.pages.site.data import tasks_data
from bnnbench.reports.pages.site.tasks import DIGITS, Scale, Task
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style.descriptions import class_name, flatten

MOST_STEPS = 2**32 - 2

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
    data = scores_data(tasks, examples) | {"settings": packed(settings_data(tasks, suites))}
    return page("compare.html", address, "Compare · bnnbench", "Compare", data | common)


def scores_data(tasks: Sequence[Task], examples: RunPages = NO_PAGES) -> dict[str, str]:
    """Return the tasks, packed, and their scores as packed bytes.

    In place of its scores a column has the decimals of its steps, its least score in steps, and
    the numbers of its methods. The codes of its scores (`_codes`), method by method and run by run,
    follow those of the column before, their lowest bytes first, then the second of all, and so on.
    """
    data = tasks_data(tasks, examples, keyed=False)
    codes: list[UInt64[ndarray, " scores"]] = []
    for task, plain in zip(tasks, data["tasks"], strict=True):
        numbers = {method: k for k, method in enumerate(plain["methods"])}
        for scale in task.scales:
            by_column = plain["scores"][scale.name]
            for column, by_method in by_column.items():
                scores = np.array([*by_method.values()], dtype=np.float64).ravel()
                decimals = _decimals(scores, scale)
                least, coded = _codes(scores, decimals)
                codes.append(coded)
                by_column[column] = decimals, least, [numbers[method] for method in by_method]
    whole = np.concatenate(codes).astype("<u4").view(np.uint8)
    return {"tasks": packed(data), "scores": packed_bytes(whole.reshape(-1, 4).T.tobytes())}


def _decimals(scores: Float[ndarray, " scores"], scale: Scale) -> int:
    """Return the decimals that a column's scores keep: five digits of a usual score, but not more
    than one after the last that differences show, and as many as `MOST_STEPS` allow."""
    known = scores[np.isfinite(scores)]
    if not known.any():
        return 0
    decimals = DIGITS - 1 - int(np.floor(np.log10(np.median(np.abs(known[known != 0])))))
    if not scale.ratio:
        decimals = min(decimals, 4 if scale.scale == 1 else 5)
    most = np.log10(MOST_STEPS / (np.ptp(known) or 1.0))
    return min(decimals, int(np.floor(most)))


def _codes(
    scores: Float[ndarray, " scores"], decimals: int
) -> tuple[int, UInt64[ndarray, " scores"]]:
    """Return the least score in steps, and each score's steps above it, plus 1; 0 for none."""
    steps = np.rint(scores * 10.0**decimals)
    least = np.nanmin(steps) if np.isfinite(steps).any() else 0.0
    return int(least), np.nan_to_num(steps - least + 1).astype(np.uint64)


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
