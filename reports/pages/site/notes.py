"""The first methods at other costs and by other scores, beside an answer."""

from collections.abc import Iterator

from bnnbench.reports.judge.over_sets.grades import Grade
from bnnbench.reports.pages.site.answers import Answer, answer_to
from bnnbench.reports.pages.site.ranking import affordable, mean_seconds
from bnnbench.reports.style.families import PLAIN
from bnnbench.reports.style.words import joined

MULTIPLES = (1, 3, 10, 30)
"""Maximum fit times for which the first method is named, in multiples of the plain network's."""
UNRANKED = ("calibration", "detection")
"""Scores that do not say whether the first stays first: a constant may be best by them."""


def notes(answer: Answer) -> list[str]:
    """Return sentences on the first method at other costs and by other scores."""
    return [*_by_cost(answer), *_by_score(answer)]


def firsts_by_cost(answer: Answer) -> dict[int, str]:
    """Return multiple of the plain network's fit time → the first method within it.

    Empty if times are not comparable.
    """
    task = answer.ranking.task
    seconds = mean_seconds(task, answer.ranking.columns)
    if not task.of_processors or not any(name in seconds for name in PLAIN):
        return {}
    order = _order(answer)
    firsts = {
        multiple: next((m for m in order if affordable(seconds, m, multiple)), "")
        for multiple in MULTIPLES
    }
    return {multiple: first for multiple, first in firsts.items() if first}


def firsts_by_score(answer: Answer) -> dict[str, tuple[str, Grade]]:
    """Return title of each other score → its first method and that method's grade."""
    task, chosen = answer.ranking.task, answer.ranking.scale.name
    firsts = {}
    for scale in (*task.scales, *task.beside):
        if scale.name != chosen and scale.name not in UNRANKED:
            other = answer_to(task, scale.name)
            if other.first:
                firsts[scale.title] = other.first, other.grade
    return firsts


def _order(answer: Answer) -> list[str]:
    if answer.verdict:
        return [place.method for place in answer.verdict.places]
    return [row.method for row in answer.ranking.compared]


def _by_cost(answer: Answer) -> Iterator[str]:
    firsts = firsts_by_cost(answer)
    if len(_order(answer)) > 1 and firsts:
        by_first: dict[str, list[str]] = {}
        for multiple, first in firsts.items():
            by_first.setdefault(first, []).append(str(multiple))
        parts = [f"{first} ({joined(times)})" for first, times in by_first.items()]
        yield f"First within so many times the plain network's fit time: {joined(parts)}."


def _by_score(answer: Answer) -> Iterator[str]:
    others = firsts_by_score(answer)
    by_first: dict[str, list[str]] = {}
    for title, (first, _) in others.items():
        by_first.setdefault(first, []).append(title)
    parts = [f"by {joined(titles)} {first}" for first, titles in by_first.items()]
    if parts:
        yield f"First by other scores: {'; '.join(parts)}."
