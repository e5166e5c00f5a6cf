"""Decisions over data sets for documents and the README: places, scores, and what to take."""

from collections.abc import Iterator, Mapping

import numpy as np

from bnnbench.reports.judge.over_sets.grades import Grade
from bnnbench.reports.judge.over_sets.tables import PLACES, place_rows
from bnnbench.reports.judge.over_sets.verdict import Verdict
from bnnbench.reports.pages.site.answers import Answer, answer_to
from bnnbench.reports.pages.site.board_pages import usual
from bnnbench.reports.pages.site.tasks import Task
from bnnbench.reports.style.variants import in_words
from bnnbench.reports.style.words import joined
from docs.generate.finished_runs import tasks

Options = Mapping[str, str]
RULES = ("rule", "first", "grade", "worse", "correlation of shares")


def places_over_sets(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each method, the largest mean share first."""
    _, _, verdict = _of(options)
    yield PLACES
    yield tuple("---" for _ in PLACES)
    yield from place_rows(verdict)


def verdict_text(options: Options) -> str:
    """Return the headline and sentences of a profile's decision over data sets."""
    _, answer, _ = _of(options)
    these = f"On these data sets alone: {answer.on_these.headline} {answer.on_these.text}"
    return f"**{answer.headline}** {answer.text}\n\n{these}\n"


def rules_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each score by which a decision is possible.

    The correlation is of all methods' mean shares by this score and by the first one.
    """
    task, _, main = _of(options)
    yield RULES
    yield ("---", "---", "---", "---:", "---:")
    for scale in (*task.scales, *task.beside):
        answer = answer_to(task, scale.name, networks=options.get("of") != "all")
        if answer.verdict:
            share = f"{_correlation(main, answer.verdict):.2f}"
            yield scale.title, answer.first, answer.grade, str(answer.worse), share


def _of(options: Options) -> tuple[Task, Answer, Verdict]:
    suite, profile = options["profile"].split(":")
    task = next(
        task
        for task in tasks()
        if (suite, profile) in {(p.suite, p.profile) for p in task.question.places}
    )
    networks = options.get("of", "networks") == "networks"
    answer = answer_to(task, task.scales[0].name, networks=networks)
    if answer.verdict is None:
        raise ValueError(f"{options['profile']} has no decision over data sets")
    return task, answer, answer.verdict


def _correlation(one: Verdict, other: Verdict) -> float:
    shares = [{place.method: place.share for place in of.places} for of in (one, other)]
    both = sorted(shares[0].keys() & shares[1].keys())
    return float(np.corrcoef(*([of[m] for m in both] for of in shares))[0, 1])


SURE: Mapping[Grade, str] = {
    "best": "best: each of {others} others is worse or practically equal",
    "leads": "{first} leads; {worse} of {others} others {are} worse",
    "not shown to be best": (
        "not shown to be best; {first} is first, {worse} of {others} others {are} worse"
    ),
    "not decided": "open; none of {others} others can be told apart",
}
"""Grade → how sure the advice is."""


def headlines_table(_: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for the first question of each kind of task."""
    yield ("for", "take", "how sure")
    yield ("---", "---", "---")
    for task, answer in _first_of_each_kind():
        question = task.question
        members = answer.shortlist.members if answer.shortlist else (answer.use,)
        words = joined([in_words(label) for label in members], last="or")
        take = f"{words}, whichever is best on held-out rows" if answer.shortlist else words
        sure = SURE[answer.grade].format(
            first="it" if answer.use == answer.first else in_words(answer.first),
            others=answer.methods - 1,
            worse=answer.worse,
            are="is" if answer.worse == 1 else "are",
        )
        yield f"{question.kind}: {question.data}", take, sure


def _first_of_each_kind() -> Iterator[tuple[Task, Answer]]:
    """Yield the first question of each kind's page, and its answer by the first criterion."""
    by_kind: dict[str, list[Task]] = {}
    for task in tasks():
        of_kind = by_kind.setdefault(task.question.kind, [])
        if not of_kind or task.question.data == of_kind[0].question.data:
            of_kind.append(task)
    for alike in by_kind.values():
        task = usual(alike)
        yield task, answer_to(task, task.scales[0].name)
