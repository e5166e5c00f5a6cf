"""The answers over data sets in the form that the board's script reads."""

from collections.abc import Iterator, Sequence
from typing import Any

from bnnbench.reports.judge.over_sets.tables import ADVICE, PLACES, place_rows
from bnnbench.reports.pages.site.answers import Answer, answer_to
from bnnbench.reports.pages.site.leagues import league_of
from bnnbench.reports.pages.site.notes import MULTIPLES, notes
from bnnbench.reports.pages.site.ranking import networks_of
from bnnbench.reports.pages.site.tasks import Scale, Task
from bnnbench.reports.pages.site.worth import worth_of


def leagues_data(tasks: Sequence[Task]) -> dict[str, Any]:
    """Return task → score → the answer within each cost, the notes, and the worth of advice."""
    answers: dict[str, Any] = {}
    texts: dict[str, dict[str, str]] = {}
    worths: dict[str, Any] = {}
    for task in tasks:
        for scale in task.scales:
            usual = answer_to(task, scale.name)
            texts.setdefault(task.name, {})[scale.name] = " ".join(notes(usual))
            if usual.verdict is None:
                continue
            of = answers.setdefault(task.name, {}).setdefault(scale.name, {"": _data(usual)})
            of |= dict(_other_states(task, scale.name))
            worths.setdefault(task.name, {})[scale.name] = dict(_worths(task, scale))
    return {"answers": answers, "notes": texts, "worth": worths}


def _other_states(task: Task, criterion: str) -> Iterator[tuple[str, Any]]:
    """Yield the answer within each cost and, after "all", with methods that are no networks."""
    costs = MULTIPLES if task.of_processors else ()
    everyone = len(networks_of(task)) < len(task.families)
    for name, networks in (("", True), *([("all", False)] * everyone)):
        for budget in (None, *costs):
            if (name or budget) and league_of(task, criterion, budget, networks):
                answer = answer_to(task, criterion, budget, networks)
                yield f"{name}{budget or ''}", _data(answer)


def _worths(task: Task, scale: Scale) -> Iterator[tuple[str, Any]]:
    """Yield the worth of advice and, after "all", with methods that are no networks."""
    head = [text.format(unit=scale.unit) for text in ADVICE]
    everyone = len(networks_of(task)) < len(task.families)
    for name, networks in (("", True), *([("all", False)] * everyone)):
        if worth := worth_of(task, scale.name, networks):
            yield name, {"text": worth.text, "head": head, "rows": worth.rows}


def _data(answer: Answer) -> dict[str, Any]:
    assert answer.verdict, "there is a decision over data sets"
    places = {"head": list(PLACES), "rows": place_rows(answer.verdict)}
    return {"headline": answer.headline, "text": answer.text, "places": places}
