"""The README's table: what to take for each kind of task, and how sure that is, in words."""

from collections.abc import Iterator, Mapping

from bnnbench.reports.judge.over_sets.grades import Grade
from bnnbench.reports.pages.site.answers import Answer, answer_to
from bnnbench.reports.pages.site.board_pages import usual
from bnnbench.reports.pages.site.tasks import Task
from bnnbench.reports.style.variants import in_words
from bnnbench.reports.style.words import joined
from docs.generate.finished_runs import tasks

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
