"""The board's headlines by the rule of the best mean, and by the grades that replaced it."""

from collections import Counter
from collections.abc import Iterator, Mapping

from bnnbench.reports.judge.over_sets.grades import OFTEN, Grade
from bnnbench.reports.pages.site.answers import Answer, answer_to
from bnnbench.reports.pages.site.ranking import ranked
from bnnbench.reports.pages.site.tasks import Task
from bnnbench.reports.style.words import joined, spelled
from docs.generate.finished_runs import tasks

GRADES: tuple[Grade, ...] = ("best", "leads", "not shown to be best", "not decided")


def before_after_table(_: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each question of the board."""
    yield (*("question", "settings", "by the best mean", "by its grade"), *("grade", "rule", "why"))
    yield tuple("---" for _ in range(7))
    for task, first, answer in _headlines():
        question = task.question
        now = answer.headline.removesuffix(".")
        yield (
            *(f"{question.kind}: {question.data}", question.settings, f"Use {first} first", now),
            *(answer.grade, rule_of(answer), why(answer)),
        )


def before_after_text(_: Mapping[str, str]) -> str:
    """Return how many headlines have each grade, and how many name another method than before."""
    of = list(_headlines())
    grades = Counter(answer.grade for _, _, answer in of)
    counts = joined([f"{spelled(grades[grade])} “{grade}”" for grade in GRADES if grades[grade]])
    other = sum(first not in _named(answer) for _, first, answer in of)
    return (
        f"Of {spelled(len(of))} questions, the grades are {counts}; {spelled(other)} of the "
        "headlines do not name the method of the best mean.\n"
    )


def rule_of(answer: Answer) -> str:
    """Return the rule behind a headline's grade."""
    if answer.evidence is None:
        return "none: too few runs to test"
    if answer.verdict is None:
        return "on its own data sets"
    shortlist = "; three by their regret" if answer.shortlist else ""
    return f"over data sets as random{shortlist}"


def why(answer: Answer) -> str:
    """Return the facts that decide a grade, as far as they speak for or against the first."""
    if (of := answer.evidence) is None:
        return ""
    redrawn = of.share is not None and of.share < OFTEN
    parts = (
        f"{of.worse} of {of.rivals} others worse",
        f"{of.equal} equal" if of.equal else "",
        "" if of.stable else f"another is first without one {of.part}",
        "another has the best mean rank" if not of.first_by_rank else "",
        f"first in {100 * (of.share or 0.0):.0f} % of {of.redrawn}" if redrawn else "",
    )
    return "; ".join(filter(None, parts))


def _headlines() -> Iterator[tuple[Task, str, Answer]]:
    """Yield each question with the method of the best mean, of any family, and its answer."""
    for task in tasks():
        criterion = task.scales[0].name
        compared = ranked(task, criterion).compared
        if compared:
            yield task, compared[0].method, answer_to(task, criterion)


def _named(answer: Answer) -> tuple[str, ...]:
    return tuple(answer.shortlist.members) if answer.shortlist else (answer.use,)
