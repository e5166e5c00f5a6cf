"""The page of a method: what it is, where it wins and where it loses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from bnnbench.reports.board.about import About, about
from bnnbench.reports.board.pages import page
from bnnbench.reports.board.ranking import mean_seconds
from bnnbench.reports.board.run_pages import NO_PAGES, RunPages
from bnnbench.reports.board.tasks import Column, Scale, Task
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style import labels
from bnnbench.reports.style.descriptions import call
from bnnbench.reports.style.families import FAMILIES, family_of
from bnnbench.reports.style.numbers import duration, number, typographic
from bnnbench.reports.style.words import counted, joined

EDGE = 0.06
"""The share of methods at the worse end whose ticks stand at the edge of a strip."""
WIDTH = 300


@dataclass(frozen=True)
class Strip:
    """All methods on one column by one criterion; better is to the right."""

    title: str
    text: str
    ticks: tuple[float, ...]
    """Places of the other methods, from 0 to `WIDTH`."""
    place: float
    """Place of the method itself."""


@dataclass(frozen=True)
class Chapter:
    """The strips of a question, by criterion."""

    title: str
    methods: int
    runs: str
    strips: Mapping[str, Sequence[Strip]]


@dataclass(frozen=True)
class Use:
    """The runs of a method in a profile."""

    suite: str
    profile: str
    settings: str
    datasets: Sequence[tuple[str, str, str]]
    """Title of a data set, the page of its runs, and the page of its examples or ""."""
    completed: int
    attempted: int
    seconds: str


def method_page(
    method: str,
    address: str,
    suites: Mapping[str, Sequence[Benchmark]],
    tasks: Sequence[Task],
    run_pages: RunPages,
    common: dict[str, Any],
    examples: RunPages = NO_PAGES,
) -> str:
    """Return the page of a method; `examples` has the addresses of pages of examples."""
    runs = [run for bs in suites.values() for b in bs for run in b.runs.get(method, ())]
    description = runs[0].run.get("method")
    known = about(description)
    own_tasks = [task for task in tasks if method in task.families]
    return page(
        *("method.html", address, f"{method} · bnnbench", "Methods", common),
        method=method,
        slug=PurePosixPath(address).stem,
        family=family_of(description),
        about=known,
        around=around(known),
        chapters=[chapter for task in own_tasks if (chapter := chapter_of(task, method)).strips],
        places=[text for task in own_tasks if (text := place_text(task, method))],
        uses=uses_of(method, suites, run_pages, examples),
        width=WIDTH,
    )


def around(known: About) -> str:
    """Return a sentence on what is around a method; "" for nothing."""
    clauses = {
        "tuned": "its settings are searched on held-out training rows",
        "tempered": "one temperature is fitted to held-out rows",
        "conformal": "its sets or intervals are corrected to a stated coverage",
    }
    return labels.sentence(f"{joined([clauses[name] for name in known.wrapped])}.") * bool(
        known.wrapped
    )


def means(task: Task, scale: Scale, column: Column) -> dict[str, float]:
    """Return method → mean score on a column, without constants."""
    scores = task.scores[scale.name][column.name]
    return {
        m: sum(by_run.values()) / len(by_run)
        for m, by_run in scores.items()
        if m not in task.constants
    }


def place_of(task: Task, scale: Scale, column: Column, method: str) -> tuple[int, int] | None:
    """Return the method's place by its mean, from 1, and the number of methods."""
    of = means(task, scale, column)
    if method not in of:
        return None
    sign = 1 if scale.up else -1
    return 1 + sum(sign * value > sign * of[method] for value in of.values()), len(of)


def place_text(task: Task, method: str) -> str:
    """Return its places by mean on a question, in words."""
    parts = []
    for scale in task.scales:
        places = [(c, p) for c in task.columns if (p := place_of(task, scale, c, method))]
        if places:
            listed = joined([f"{place} on {c.title}" for c, (place, _) in places])
            parts.append(f"by {scale.title} {listed}")
    question = task.question
    others = max((len(means(task, s, c)) for s in task.scales for c in task.columns), default=0)
    name = f"{labels.sentence(question.kind)}, {question.data}, settings {question.settings}"
    return f"{name}, among {counted(others, 'method')}: {'; '.join(parts)}." if parts else ""


def chapter_of(task: Task, method: str) -> Chapter:
    """Return the strips of a question."""
    question = task.question
    strips = {
        scale.title: [
            strip for column in task.columns if (strip := strip_of(task, scale, column, method))
        ]
        for scale in task.scales
    }
    seconds = mean_seconds(task, task.columns).get(method)
    kind = "processor seconds" if task.of_processors else "seconds of the clock"
    return Chapter(
        f"{labels.sentence(question.kind)}: {question.data}, settings {question.settings}",
        len(task.families) - len(task.constants),
        f"{duration(seconds)} a fit ({kind})" if seconds else "",
        {title: listed for title, listed in strips.items() if listed},
    )


def strip_of(task: Task, scale: Scale, column: Column, method: str) -> Strip | None:
    """Return all methods' means on a line; None where the method has none, or is alone."""
    of = means(task, scale, column)
    place = place_of(task, scale, column, method)
    if place is None or len(of) < 2:
        return None
    sign = 1.0 if scale.up else -1.0
    values = {m: sign * value for m, value in of.items()}
    ordered = sorted(values.values())
    low, high = ordered[int(EDGE * len(ordered))], ordered[-1]
    span = (high - low) or 1.0

    def x(value: float) -> float:
        return round(max(0.0, (value - low) / span) * (WIDTH - 12) + 6, 1)

    best = max(values, key=lambda m: values[m])
    percent = 100 if scale.scale == 100 and not scale.ratio else 1
    shown, of_best = (typographic(number(percent * of[m], 3)) for m in (method, best))
    rank = f"{place[0]} of {place[1]}"
    text = f"{rank}: {shown}" + (f"; best {best}, {of_best}" if best != method else ", the best")
    others = tuple(x(value) for m, value in values.items() if m != method)
    return Strip(column.title, text, others, x(values[method]))


def uses_of(
    method: str,
    suites: Mapping[str, Sequence[Benchmark]],
    run_pages: RunPages,
    examples: RunPages = NO_PAGES,
) -> list[Use]:
    """Return the runs of a method, profile by profile."""
    uses: list[Use] = []
    for suite, benchmarks in suites.items():
        for profile in dict.fromkeys(b.profile for b in benchmarks):
            within = [b for b in benchmarks if b.profile == profile and method in b.runs]
            runs = [run for b in within for run in b.runs[method]]
            if not runs:
                continue
            times = [r.cost.fit_seconds for r in runs if r.cost and r.status == "completed"]
            description = runs[0].run.get("method")
            has_settings = isinstance(description, Mapping) and len(description) > 1
            uses.append(
                Use(
                    suite,
                    profile,
                    call(description) if has_settings else "",
                    [
                        (b.title, run_pages[place], examples.get(place, ""))
                        for b in within
                        if (place := (suite, b.identity))
                    ],
                    sum(run.status == "completed" for run in runs),
                    len(runs),
                    duration(sum(times) / len(times)) if times else "",
                )
            )
    return uses


def methods_index(
    address: str, families: Mapping[str, str], pages: Mapping[str, str], common: dict[str, Any]
) -> str:
    """Return the list of all methods, by family."""
    by_family = {
        family: [(m, pages[m]) for m, of_method in families.items() if of_method == family]
        for family in FAMILIES
    }
    return page(
        *("methods.html", address, "Methods · bnnbench", "Methods", common),
        families={family: listed for family, listed in by_family.items() if listed},
        count=len(families),
    )
