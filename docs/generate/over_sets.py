"""Tables of decisions over data sets: places, and the same decision by several scores.

With `of=all`, methods that are no networks take part.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from bnnbench.reports.judge.over_sets.tables import PLACES, place_rows
from bnnbench.reports.judge.over_sets.verdict import Verdict
from bnnbench.reports.pages.site.answers import Answer, answer_to
from bnnbench.reports.pages.site.tasks import Task
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
