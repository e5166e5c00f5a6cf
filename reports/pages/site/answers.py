"""The board's answers: over data sets as random where there are enough, else on its own sets."""

import functools
from dataclasses import dataclass

from bnnbench.reports.judge.given_sets import FEWEST_SETS
from bnnbench.reports.judge.over_sets.grades import Evidence, Grade, grade, short
from bnnbench.reports.judge.over_sets.regret import Outcome
from bnnbench.reports.judge.over_sets.tables import sentences, winner
from bnnbench.reports.judge.over_sets.verdict import NEAR, Verdict, verdict
from bnnbench.reports.judge.over_sets.worth import Worth
from bnnbench.reports.pages.site.advice import Advice, advice, evidence_of, to_use
from bnnbench.reports.pages.site.leagues import league_of
from bnnbench.reports.pages.site.ranking import Ranking, ranked
from bnnbench.reports.pages.site.tasks import Task
from bnnbench.reports.pages.site.worth import worth_of
from bnnbench.reports.style.numbers import duration
from bnnbench.reports.style.words import joined


@dataclass(frozen=True)
class Answer:
    """The answer to a question, by one score."""

    ranking: Ranking
    verdict: Verdict | None
    """The decision over data sets; None if there is none."""
    on_these: Advice
    """The answer on its own data sets."""
    worth: Worth | None = None
    """Worth of the advice on an unseen data set; None without a decision over data sets."""

    @property
    def shortlist(self) -> Outcome | None:
        """Three methods to run in place of the first, if that is shown to be better advice."""
        return winner(self.worth.outcomes) if self.worth else None

    @property
    def headline(self) -> str:
        """The method to use first, with its grade, or the shortlist to run."""
        if self.verdict is None:
            return self.on_these.headline
        if self.shortlist:
            return f"Run these three: {joined(list(self.shortlist.members))}."
        return short(self.verdict.evidence, self.use)

    @property
    def text(self) -> str:
        """The sentences below the headline."""
        if self.verdict is None:
            return self.on_these.text
        advised = "Keep the one that is best on held-out rows. "
        told = [advised.strip()] * bool(self.shortlist)
        if self.use != self.verdict.first and not self.shortlist:
            near, first = self.verdict.cheapest, self.verdict.places[0]
            times = [duration(place.seconds or 0.0) for place in (near, first)]
            told.append(
                f"It is within {NEAR:g} of the gap of {first.method}, for {times[0]} a fit instead "
                f"of {times[1]}."
            )
        return " ".join([*told, *sentences(self.verdict), *self._untimed, *self._apart])

    @property
    def _untimed(self) -> list[str]:
        """The data sets whose times do not count, if others' do."""
        columns, seconds = self.ranking.columns, self.ranking.task.seconds
        untimed = [column.title for column in columns if not seconds[column.name]]
        if not 0 < len(untimed) < len(columns):
            return []
        return [f"Times are without {joined(untimed)}, timed on another device than most."]

    @property
    def _apart(self) -> list[str]:
        """The methods that count over data sets, but are not compared on the given ones."""
        compared = {row.method for row in self.ranking.compared}
        places = self.verdict.places if self.verdict else ()
        apart = [place.method for place in places if place.method not in compared]
        if not apart:
            return []
        verb = "is" if len(apart) == 1 else "are"
        return [
            f"On these data sets alone {joined(apart)} {verb} not compared, because of fits that "
            "failed."
        ]

    @property
    def use(self) -> str:
        """The one method to use: the first, an equal one at half its cost or, by lower grades, the
        cheapest of those near it that are not shown to be worse; "" if none was compared."""
        if self.evidence is None:
            return self.first
        if self.verdict is None:
            return to_use(self.ranking, self.evidence)
        known = self.ranking.task.of_processors
        cheaper = known and self.grade not in ("best", "leads")
        return self.verdict.cheapest.method if cheaper else self.first

    @property
    def first(self) -> str:
        """The first method; "" if none was compared."""
        compared = self.ranking.compared
        return self.verdict.first if self.verdict else compared[0].method if compared else ""

    @property
    def evidence(self) -> Evidence | None:
        """What decides the grade; None if nothing was tested."""
        if self.verdict:
            return self.verdict.evidence
        tested = len(self.ranking.compared) > 1 and not self.ranking.standings.decision.untested
        return evidence_of(self.ranking) if tested else None

    @property
    def grade(self) -> Grade:
        """The grade of the first."""
        return grade(self.evidence) if self.evidence else "not decided"

    @property
    def settings(self) -> str:
        """How the methods' settings were chosen."""
        return self.ranking.task.question.settings

    @property
    def methods(self) -> int:
        """The number of compared methods."""
        return len(self.verdict.places) if self.verdict else len(self.ranking.compared)

    @property
    def worse(self) -> int:
        """The number of methods that are shown to be worse."""
        return self.evidence.worse if self.evidence else 0

    @property
    def share(self) -> float | None:
        """Share of redraws of the data sets in which the first is first; None for one set."""
        return self.evidence.share if self.evidence else None

    @property
    def worse_without_one(self) -> str:
        """The range of the number of worse methods when one data set is left out; "" for few."""
        if self.verdict:
            return _range([self.verdict.fewest_worse, self.verdict.most_worse])
        columns = self.ranking.columns
        if self.share is None or len(columns) < FEWEST_SETS:
            return ""
        names, task, criterion = (
            [c.name for c in columns],
            self.ranking.task,
            self.ranking.scale.name,
        )
        left = [[n for n in names if n != one] for one in names]
        return _range([len(ranked(task, criterion, of, networks=True).of("worse")) for of in left])


@functools.lru_cache(maxsize=1024)
def answer_to(
    task: Task, criterion: str, budget: float | None = None, networks: bool = True
) -> Answer:
    """Return the answer, for methods within a multiple of the plain network's time.

    Unless asked, methods that are no networks take no part.
    """
    ranking = ranked(task, criterion, budget=budget, networks=networks)
    league = league_of(task, criterion, budget, networks)
    worth = worth_of(task, criterion, networks) if league and budget is None else None
    return Answer(ranking, verdict(league) if league else None, advice(ranking), worth)


def _range(counts: list[int]) -> str:
    least, most = min(counts), max(counts)
    return str(most) if least == most else f"{least} to {most}"
