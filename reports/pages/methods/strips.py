"""The place of a method among all methods, score by score."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bnnbench.reports.pages.site.ranking import mean_seconds
from bnnbench.reports.pages.site.tasks import Column, Scale, Task
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import duration, number, slug, typographic
from bnnbench.reports.style.words import counted, joined

EDGE = 0.06
"""The share of methods at the worse end whose ticks are drawn at the edge of a strip."""
WIDTH = 300
DECIMALS = 12
MOST_STRIPS = 7
"""With more data sets, a score has one strip: of the method's places on all of them."""
NAMED = 3
"""Number of best and of worst data sets that are named in the text of such a strip."""


@dataclass(frozen=True)
class Strip:
    """All methods on one column, or a method on all columns, by one criterion; best is right."""

    dataset: str
    """The name of the data set in addresses; "" for all of them."""
    title: str
    text: str
    ticks: str
    """A line from 0 through the places of the other methods, or of the method on each data set;
    the page draws a tick at each."""
    place: int
    """The place of the method itself, or its mean."""


@dataclass(frozen=True)
class Chapter:
    """The strips of a question, by the title of a score."""

    title: str
    methods: int
    runs: str
    places: str
    strips: Mapping[str, Sequence[Strip]]


def means(task: Task, scale: Scale, column: Column) -> dict[str, float]:
    """Return method → mean score on a column, without constants.

    Rounded to `DECIMALS`, since the order of summation changes the last digits of equal means.
    """
    scores, constants = task.scores[scale.name][column.name], task.constants
    return {
        method: round(sum(by_run.values()) / len(by_run), DECIMALS)
        for method, by_run in scores.items()
        if method not in constants
    }


def place_of(task: Task, scale: Scale, column: Column, method: str) -> tuple[int, int] | None:
    """Return the method's place by its mean, from 1, and the number of methods."""
    of = means(task, scale, column)
    if method not in of:
        return None
    sign = 1 if scale.up else -1
    return 1 + sum(sign * value > sign * of[method] for value in of.values()), len(of)


def places_text(task: Task, method: str) -> str:
    """Return text with its best and worst place by mean on a question, score by score."""
    parts = []
    for scale in task.scales:
        ranks = (place_of(task, scale, column, method) for column in task.columns)
        if places := sorted({place for place, _ in filter(None, ranks)}):
            ends = dict.fromkeys((places[0], places[-1]))
            parts.append(f"{scale.title} {' to '.join(map(str, ends))}")
    others = max((len(means(task, s, c)) for s in task.scales for c in task.columns), default=0)
    return f"Places among {counted(others, 'method')}: {joined(parts)}." if parts else ""


def chapter_of(task: Task, method: str) -> Chapter:
    """Return the strips of a question."""
    question = task.question
    strips = {scale.title: strips_of(task, scale, method) for scale in task.scales}
    seconds = mean_seconds(task, task.columns).get(method)
    kind = "processor seconds" if task.of_processors else "wall seconds"
    return Chapter(
        f"{labels.sentence(question.kind)}: {question.data}, settings {question.settings}",
        len(task.families) - len(task.constants),
        f"{duration(seconds)} a fit ({kind})" if seconds else "",
        places_text(task, method),
        {title: listed for title, listed in strips.items() if listed},
    )


def strips_of(task: Task, scale: Scale, method: str) -> list[Strip]:
    """Return a strip of each column, or one for all if there are many."""
    if len(task.columns) > MOST_STRIPS:
        return places_strip(task, scale, method)
    strips = (strip_of(task, scale, column, method) for column in task.columns)
    return [strip for strip in strips if strip]


def places_strip(task: Task, scale: Scale, method: str) -> list[Strip]:
    """Return the method's places on all columns on a line; empty if it has none."""
    places = {
        column.title: place
        for column in task.columns
        if (place := place_of(task, scale, column, method)) and place[1] > 1
    }
    if not places:
        return []
    shares = [(of - place) / (of - 1) for place, of in places.values()]
    mean = sum(place for place, _ in places.values()) / len(places)
    ordered = sorted(places, key=lambda title: places[title])
    best, worst = (
        joined([f"{title} ({places[title][0]} of {places[title][1]})" for title in some])
        for some in (ordered[:NAMED], ordered[: -NAMED - 1 : -1])
    )
    text = f"mean place {typographic(number(mean, 3))}; best on {best}; worst on {worst}"
    ticks = _ticks(_x(share) for share in shares)
    mark = _x(sum(shares) / len(shares))
    return [Strip("", counted(len(places), "data set"), text, ticks, mark)]


def strip_of(task: Task, scale: Scale, column: Column, method: str) -> Strip | None:
    """Return all methods' means on a line; None if the method has none, or is the only one."""
    of = means(task, scale, column)
    place = place_of(task, scale, column, method)
    if place is None or len(of) < 2:
        return None
    sign = 1.0 if scale.up else -1.0
    values = {m: sign * value for m, value in of.items()}
    ordered = sorted(values.values())
    low, high = ordered[int(EDGE * len(ordered))], ordered[-1]
    span = (high - low) or 1.0

    best = max(values, key=lambda m: values[m])
    percent = 100 if scale.scale == 100 and not scale.ratio else 1
    shown, of_best = (typographic(number(percent * of[m], 3)) for m in (method, best))
    rank = f"{place[0]} of {place[1]}"
    text = f"{rank}: {shown}" + (f"; best {best}, {of_best}" if best != method else ", the best")
    shares = {m: (value - low) / span for m, value in values.items()}
    ticks = _ticks(_x(share) for m, share in shares.items() if m != method)
    return Strip(slug(column.title), column.title, text, ticks, _x(shares[method]))


def _x(share: float) -> int:
    return round(max(0.0, share) * (WIDTH - 12) + 6)


def _ticks(places: Iterable[int]) -> str:
    return "".join(f"h{after - before}" for before, after in pairwise([0, *sorted(set(places))]))
