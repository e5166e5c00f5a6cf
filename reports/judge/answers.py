"""The answer of a suite in three sentences, made from the statistics alone.

Which methods are best and which are not significantly worse; what that costs; what cannot be told.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bnnbench.reports.judge.costs import BASE, Costs, costs
from bnnbench.reports.judge.findings import across, on_one, short, short_across
from bnnbench.reports.judge.measures import Judged, judged, main_metrics
from bnnbench.reports.judge.paired import LEVEL
from bnnbench.reports.judge.ranks import ranks
from bnnbench.reports.papers.reproduction import reproductions
from bnnbench.reports.papers.verdicts import clauses, judgements
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.success import Success, over_all
from bnnbench.reports.style import labels
from bnnbench.reports.style.words import all_of, counted, joined, quoted, some_of

MOST_NAMES = 4
"""Longer lists of methods are cut: "A, B, C, D and 5 others"."""
CHEAPER = 1.05
"""A method is called cheaper if the other takes this many times as long."""


@dataclass(frozen=True)
class Answer:
    """Three sentences about one profile of a suite, and one line for the front page."""

    best: str
    cost: str
    limits: str
    line: str
    main: tuple[Judged, ...] = ()
    """What the sentences are about: each a data set by a main metric."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences in order; what there is nothing to say of is left out."""
        return tuple(text for text in (self.best, self.cost, self.limits) if text)


def answer(benchmarks: Sequence[Benchmark], published: Iterable[str] | None = None) -> Answer:
    """Return the answer of one profile, whose data sets `benchmarks` are.

    `published` are clauses about printed numbers (`verdicts.clauses`), made here if
    they are not given.
    """
    if published is None:
        published = clauses(list(judgements(reproductions(benchmarks)).values()))
    methods = list(dict.fromkeys(m for b in benchmarks for m in b.runs))
    ended = over_all(benchmarks, methods)
    found = {
        metric: scored
        for metric in main_metrics(benchmarks)
        if (scored := [j for b in benchmarks if (j := judged(b, metric)) and j.means])
    }
    if not found:
        nothing = _nothing(list(ended.values()))
        return Answer(nothing, "", _sentence(published), nothing)
    if len(benchmarks) == 1:
        (first, *others) = [scored[0] for scored in found.values()]
        best, line = on_one([first, *others], len(methods)), short(first)
    else:
        ranked = {metric: ranks(benchmarks, metric) for metric in found}
        best = across(found, ranked, len(methods), len(benchmarks))
        metric = next(iter(found))
        line = short_across(found[metric], ranked[metric])
    cost = _cost(costs(benchmarks), next(iter(found.values())))
    limits = [*_failures(ended), *_unconverged(ended), *_undetectable(found), *published]
    main = tuple(j for scored in found.values() for j in scored)
    return Answer(best, cost, _sentence(limits), line, main)


def _nothing(ended: Sequence[Success]) -> str:
    """Return the sentence for results without a score."""
    begun, completed = sum(s.begun for s in ended), sum(s.completed for s in ended)
    if not begun:
        return "There is no run to compare."
    if completed:
        runs = counted(completed, "run")
        verb = "was" if completed == 1 else "were"
        return f"{runs} {verb} completed, but no score is one by which methods compare."
    whose = f"of {counted(len(ended), 'method')}"
    return f"{all_of(begun, 'run')} {whose} diverged or failed; there is nothing to compare."


def _cost(of: Costs | None, first: Sequence[Judged]) -> str:
    """Return what the best method costs beside AdamW or the cheapest, and the cheapest as good."""
    if of is None:
        return ""
    wins: dict[str, int] = {}
    for method in (m for j in first for m in j.verdict.best if m in of.ratios):
        wins[method] = wins.get(method, 0) + 1
    if not wins:
        return ""
    champion = max(sorted(wins), key=lambda m: wins[m])
    name = quoted(champion)
    if champion == of.base:
        cheapest = ", the cheapest method," if of.base_is_cheapest and len(of.ratios) > 1 else ""
        text = f"{name}{cheapest} takes {of.seconds(champion)} per fit"
    else:
        base = quoted(of.base) + (
            ", the cheapest" if of.base != BASE and of.base_is_cheapest else ""
        )
        text = f"{name} takes {of.times(champion)} of {base}"
        text += f" ({of.seconds(champion)} per fit)"
    as_good = set.intersection(*({*j.verdict.best, *j.verdict.close} for j in first))
    cheapest = min(sorted(as_good & of.ratios.keys()), key=lambda m: of.ratios[m], default=None)
    if cheapest and cheapest != champion and of.ratios[cheapest] * CHEAPER < of.ratios[champion]:
        told = "is not significantly worse" if len(first) == 1 else "is nowhere significantly worse"
        if cheapest == of.base:
            text += f"; {quoted(cheapest)} itself {told}"
        else:
            text += f"; {quoted(cheapest)}, with {of.times(cheapest)}, {told}"
    return f"{text}."


def _failures(ended: Mapping[str, Success]) -> list[str]:
    """Return what became of the runs that no mean holds."""
    short_of = sorted((s for s in ended.values() if not s.whole), key=lambda s: s.share)
    if not short_of:
        return []
    asked = sum(s.asked for s in ended.values())
    ends = {
        "diverged": sum(s.diverged for s in short_of),
        "failed": sum(s.failed for s in short_of),
        "not run": sum(s.missing for s in short_of),
    }
    told = []
    for end, count in ends.items():
        was = ("was " if count == 1 else "were ") if end == "not run" else ""
        if count:
            told.append(f"{count} {was}{end}")
    told[0] = told[0].replace(" ", f" of {counted(asked, 'run')} ", 1)
    named = [
        f"{quoted(s.method)} {s.asked - s.completed} of {s.asked}" for s in short_of[:MOST_NAMES]
    ]
    return [f"{joined(told)} ({some_of(named, len(short_of), 'method')})"]


def _unconverged(ended: Mapping[str, Success]) -> list[str]:
    """Return which runs behind the means did not converge."""
    astray = sorted((s for s in ended.values() if s.unconverged), key=lambda s: -s.unconverged)
    if not astray:
        return []
    named = [f"{quoted(s.method)} {s.unconverged} of {s.completed}" for s in astray[:MOST_NAMES]]
    runs = counted(sum(s.unconverged for s in astray), "completed run")
    return [f"{runs} did not converge ({some_of(named, len(astray), 'method')})"]


def _undetectable(found: Mapping[str, Sequence[Judged]]) -> list[str]:
    """Return the least differences that the tests were likely to find."""
    one = [least for scored in found.values() if len(scored) == 1 and (least := _least(scored[0]))]
    if one:
        limit = joined(one, last="or")
    else:
        several = [j.verdict.detectable_in_std for scored in found.values() for j in scored]
        known = sorted(limit for limit in several if limit == limit)
        if not known:
            return []
        limit = f"{known[len(known) // 2]:.2g} standard deviations of paired differences"
    return [
        f"with this budget a true difference from the best below about {limit} is likely to be "
        f"missed (power 0.8 at a level of {100 * LEVEL:.0f} % for all comparisons)"
    ]


def _least(found: Judged) -> str:
    """Return the difference that is told from 0 with power 0.8, of the methods not told apart."""
    verdict = found.verdict
    among = sorted(verdict.detectable[m] for m in verdict.close or verdict.detectable)
    among = [difference for difference in among if difference > 0]
    return f"{found.amount(among[len(among) // 2])} in {found.name}" if among else ""


def _sentence(parts: Iterable[str]) -> str:
    text = "; ".join(parts)
    return f"{labels.sentence(text)}." if text else ""
