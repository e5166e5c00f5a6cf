"""The answers over data sets in the form that the board's script reads."""

from collections.abc import Sequence
from typing import Any

from bnnbench.reports.judge.over_sets.tables import ADVICE, PLACES, place_rows
from bnnbench.reports.pages.site.answers import Answer, answer_to
from bnnbench.reports.pages.site.leagues import league_of
from bnnbench.reports.pages.site.notes import MULTIPLES, notes
from bnnbench.reports.pages.site.tasks import Task
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
            of |= {
                str(multiple): _data(answer_to(task, scale.name, multiple))
                for multiple in MULTIPLES
                if task.of_processors and league_of(task, scale.name, multiple)
            }
            if worth := worth_of(task, scale.name):
                head = [text.format(unit=scale.unit) for text in ADVICE]
                by_scale = worths.setdefault(task.name, {})
                by_scale[scale.name] = {"text": worth.text, "head": head, "rows": worth.rows}
    return {"answers": answers, "notes": texts, "worth": worths}


def _data(answer: Answer) -> dict[str, Any]:
    assert answer.verdict, "there is a decision over data sets"
    places = {"head": list(PLACES), "rows": place_rows(answer.verdict)}
    return {"headline": answer.headline, "text": answer.text, "places": places}
