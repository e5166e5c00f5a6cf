"""The words of an answer in the overview: its name, its sentence and the facts beside it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from bnnbench.reports.judge.given_sets import FEWEST_REPLICATES
from bnnbench.reports.judge.over_sets.grades import Evidence, Grade, grade, sentence
from bnnbench.reports.judge.over_sets.verdict import NEAR
from bnnbench.reports.pages.site.advice import FEW_NAMES, unconverged_fits
from bnnbench.reports.pages.site.answers import Answer
from bnnbench.reports.pages.site.below import far_below
from bnnbench.reports.pages.site.ranking import mean_seconds
from bnnbench.reports.style import labels
from bnnbench.reports.style.families import PLAIN
from bnnbench.reports.style.numbers import duration, typographic
from bnnbench.reports.style.variants import in_words
from bnnbench.reports.style.words import counted, joined, quoted


@dataclass(frozen=True)
class Told:
    """An answer in words."""

    grade: Grade | Literal["no runs"]
    name: str
    sentence: str
    facts: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    """The labels of the methods to use."""


NO_RUNS = Told("no runs", "not yet measured", "Nobody has run this, so nothing can be said.")


def told(answer: Answer) -> Told:
    """Return the words of an answer, in which methods have names in words."""
    evidence = answer.evidence
    if evidence is None:
        name = in_words(answer.first) if answer.first else "none within this cost"
        return Told("not decided", name, answer.on_these.headline, _cost(answer))
    named = replace(
        evidence,
        first=in_words(evidence.first),
        others_first={where: in_words(m) for where, m in evidence.others_first.items()},
    )
    facts = (*_leave_out(named), *_next(answer), *_redraws(named, _replicates(answer)))
    facts = (*facts, *_below(answer), *_unconverged(answer), *_do(answer), *_cost(answer))
    uses = answer.shortlist.members if answer.shortlist else (answer.use,)
    return Told(answer.grade, _name(answer), sentence(named), facts, tuple(uses))


def _replicates(answer: Answer) -> int:
    """Return the number of tables, or of splits or seeds of each given data set."""
    return len(answer.verdict.league.sets) if answer.verdict else answer.ranking.replicates


def _name(answer: Answer) -> str:
    if answer.shortlist:
        return f"Run three: {joined([in_words(m) for m in answer.shortlist.members])}"
    use = in_words(answer.use)
    return use if answer.grade in ("best", "leads") else f"Try {use}"


def _leave_out(of: Evidence) -> Iterator[str]:
    """Yield what the leave-outs say, unless the sentence says it."""
    others, reached = list(of.others_first.items()), grade(of)
    if not others and reached != "leads":
        yield f"First whichever {of.part} is left out."
    elif others and reached == "not decided":
        if len(others) > FEW_NAMES:
            yield f"Another is first without one of {len(others)} {of.part}s."
        else:
            parts = [f"{quoted(other)} is first without {where}" for where, other in others]
            yield labels.sentence(f"{joined(parts)}.")


def _next(answer: Answer) -> Iterator[str]:
    """Yield the next method with the interval that its verdict used, or its p-value if worse."""
    if answer.verdict:
        if len(answer.verdict.places) > 1:
            place = answer.verdict.places[1]
            worse = f", worse with p = {place.adjusted_p:.2g} after correction" * place.worse
            yield (
                f"Next: {in_words(place.method)}, {place.behind:.2f} behind on a scale from a "
                f"constant prediction (0) to the best method (1){worse}."
            )
        return
    leaders = answer.ranking.standings.decision.leaders
    row = next((row for row in answer.ranking.compared if row.method not in leaders), None)
    if row is None or row.margin is None or row.low is None or row.high is None:
        return
    unit = answer.ranking.scale.unit.replace(" an example", "")
    behind = f"Next: {in_words(row.method)}, {_signed(row.margin)} {unit} behind"
    if row.standing.worse:
        yield f"{behind}, worse with p = {row.standing.adjusted_p:.2g} after correction."
    else:
        yield f"{behind}, interval {_signed(row.low)} to {_signed(row.high)}."


def _redraws(of: Evidence, replicates: int) -> Iterator[str]:
    if of.share is not None and grade(of) != "leads" and replicates >= FEWEST_REPLICATES:
        share = f"{100 * of.share:.0f} % of 2,000"
        yield f"{quoted(of.first)} is first in {share} {of.redrawn}."


def _below(answer: Answer) -> Iterator[str]:
    ranking = answer.ranking
    below = far_below(ranking.task, ranking.scale, ranking.columns, answer.first)
    if below:
        many = f"{len(below)} of {len(ranking.columns)}"
        yield f"On {many} it is clearly worse than a constant prediction."


def _unconverged(answer: Answer) -> Iterator[str]:
    """Yield the fits of the first and of the advised method that did not converge."""
    counts = unconverged_fits(answer.ranking)
    for method in dict.fromkeys((answer.first, answer.use)):
        if method in counts:
            fits = counted(counts[method], "fit")
            scores = "its score counts" if counts[method] == 1 else "their scores count"
            yield f"{fits} of {in_words(method)} did not converge; {scores}."


def _do(answer: Answer) -> Iterator[str]:
    """Yield what to do where nothing is best."""
    if answer.shortlist:
        yield "Keep the one that is best on held-out rows."
    elif answer.grade not in ("best", "leads") and answer.use != answer.first:
        yield (
            f"{in_words(answer.use)} is the cheapest with a mean within {_margin(answer)} of the "
            "first, and not shown to be worse."
        )
    elif answer.grade in ("best", "leads") and answer.use != answer.first:
        yield (
            f"{in_words(answer.use)} is practically equal to {in_words(answer.first)} and costs "
            "less than half."
        )


def _margin(answer: Answer) -> str:
    if answer.verdict:
        return f"{NEAR:g} of the gap"
    scale = answer.ranking.scale
    unit = scale.unit.replace(" an example", "")
    return "1 point" if (scale.margin, unit) == (1, "points") else f"{scale.margin:.2g} {unit}"


def _cost(answer: Answer) -> tuple[str, ...]:
    """Return the sentences on the cost of the method to use, and on its settings."""
    task, use = answer.ranking.task, answer.use or answer.first
    seconds = mean_seconds(task, answer.ranking.columns)
    plain = next((seconds[name] for name in PLAIN if name in seconds), None)
    facts = []
    if use in seconds and task.of_processors:
        times = f", {seconds[use] / plain:.1f} times a plain network" if plain else ""
        facts.append(f"{duration(seconds[use])} a fit{times}.")
    if task.question.settings == "as declared":
        facts.append("Settings as declared, not searched alike.")
    return tuple(facts)


def _signed(value: float) -> str:
    return typographic(f"{value:.3f}" if abs(value) < 1 else f"{value:.2g}")
