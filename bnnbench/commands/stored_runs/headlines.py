"""The board's headlines: the first methods of each question, and whether runs would change them."""

from collections import defaultdict
from collections.abc import Sequence

from bnnbench.engine.records.record import Record
from bnnbench.reports.pages.site.answers import answer_to
from bnnbench.reports.pages.site.questions import QUESTIONS, Question
from bnnbench.reports.pages.site.ranking import ranked
from bnnbench.reports.pages.site.tasks import Task, task_of
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.means import with_means

FIRST = ("best", "leads", "equal")
"""States of the methods that a headline names."""


def suites_concerned(record: Record) -> set[str]:
    """Return the suites whose runs answer a question together with those of a record's profile."""
    places = (place for question in _concerned(record) for place in question.places)
    return {record.suite, *(place.suite for place in places)}


def changed_by(new: Sequence[Record], others: Sequence[Record]) -> list[str]:
    """Return the criteria of the board's questions whose headline runs would change.

    A headline is changed by another leader or another group of equally good methods, over all
    columns or over those of the runs.
    """
    changed: dict[str, None] = {}
    for question in _concerned(new[0]):
        before, after = _task(question, others), _task(question, [*others, *new])
        columns = _columns_of(new, after)
        for criterion in question.criteria:
            for chosen in (None, columns):
                name = criterion.name
                if _headline(before, name, chosen) != _headline(after, name, chosen):
                    changed[f"{question.kind}, {question.data}, {name}"] = None
    return list(changed)


def _concerned(record: Record) -> list[Question]:
    place = record.suite, record.profile
    return [q for q in QUESTIONS if place in {(p.suite, p.profile) for p in q.places}]


def _task(question: Question, records: Sequence[Record]) -> Task | None:
    by_suite: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_suite[record.suite].append(record)
    return task_of(
        question, {suite: benchmarks(map(with_means, of)) for suite, of in by_suite.items()}
    )


def _columns_of(new: Sequence[Record], task: Task | None) -> tuple[str, ...]:
    """Return the names of a task's columns with scores of some runs."""
    if task is None:
        return ()
    keys = {record.key for record in new}
    by_column = {
        name: {end.key for runs in methods.values() for end in runs.values()}
        for name, methods in task.keys.items()
    }
    return tuple(name for name, ended in by_column.items() if keys & ended)


def _headline(task: Task | None, criterion: str, columns: Sequence[str] | None) -> object:
    """Return the headline over all columns, leaders and groups of first methods, or None."""
    if task is None or criterion not in {scale.name for scale in task.scales}:
        return None
    here = None if columns is None else [c.name for c in task.columns if c.name in columns]
    if here == []:
        return None
    ranking = ranked(task, criterion, here)
    leaders = ranking.standings.decision.leaders
    over_all = answer_to(task, criterion).headline if columns is None else ""
    return over_all, leaders, [frozenset(ranking.of(state)) for state in FIRST]
