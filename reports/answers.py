"""The answer of a suite in three sentences, made from the statistics alone.

Which methods are best and which are not significantly worse; what that costs; what cannot be told.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reports import labels
from reports.benchmarks import Benchmark
from reports.costs import Costs, costs
from reports.measures import Judged, judged, main_metrics
from reports.paired import LEVEL
from reports.success import Success, over_all
from reports.words import all_of, counted, joined, some_of

MOST_NAMES = 4
"""Longer lists of methods are cut: "A, B, C and 5 others"."""


@dataclass(frozen=True)
class Answer:
    """Three sentences about one profile of a suite, and one line for the front page."""

    best: str
    cost: str
    limits: str
    line: str
    main: tuple[Judged, ...] = ()
    """What the sentences are about: a data set by a main metric each."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences in order; what there is nothing to say of is left out."""
        return tuple(text for text in (self.best, self.cost, self.limits) if text)


def answer(benchmarks: Sequence[Benchmark], published: Iterable[str] = ()) -> Answer:
    """Return the answer of one profile, whose data sets `benchmarks` are.

    `published` are clauses about printed numbers, such as "17 of 20 printed numbers agree".
    """
    methods = list(dict.fromkeys(m for b in benchmarks for m in b.runs))
    ended = over_all(benchmarks, methods)
    by_metric = {
        metric: [found for b in benchmarks if (found := judged(b, metric))]
        for metric in main_metrics(benchmarks)
    }
    by_metric = {m: [j for j in found if j.means] for m, found in by_metric.items()}
    by_metric = {m: found for m, found in by_metric.items() if found}
    failures = _failures(ended)
    if not by_metric:
        nothing = _nothing(list(ended.values()))
        return Answer(nothing, "", _sentence(list(published)), nothing)
    if len(benchmarks) == 1:
        best, line = _on_one(by_metric, methods)
    else:
        best, line = _on_several(by_metric, methods, len(benchmarks))
    first = next(iter(by_metric.values()))
    cost = _cost(costs(benchmarks), first)
    limits = [*failures, *_undetectable(by_metric), *published]
    return Answer(
        best, cost, _sentence(limits), line, tuple(j for f in by_metric.values() for j in f)
    )


def _nothing(ended: Sequence[Success]) -> str:
    """Return the sentence for results without a score."""
    asked, completed = sum(s.asked for s in ended), sum(s.completed for s in ended)
    if not asked:
        return "There is no run to compare."
    if completed:
        return (
            f"{counted(completed, 'run')} completed, but none has a score by which methods compare."
        )
    which = all_of(asked, "run")
    return (
        f"{which} of {counted(len(ended), 'method')} diverged or failed; nothing can be compared."
    )


def _on_one(by_metric: dict[str, list[Judged]], methods: Sequence[str]) -> tuple[str, str]:
    """Return sentence and line about a single data set."""
    clauses = [f"by {found.name}, {clause(found)}" for (found,) in by_metric.values()]
    (first, *_), *_ = by_metric.values()
    where = _where(first.benchmark)
    opening = f"on {where}" if len(methods) == 1 else f"of {len(methods)} methods on {where}"
    text = labels.sentence(f"{opening}, " + "; ".join(clauses))
    return f"{text}.", f"{labels.sentence(short(first))} on {where}."


def clause(found: Judged) -> str:
    """Return what the tests say about the best of one metric on one data set."""
    verdict, best = found.verdict, sorted(found.verdict.best)
    if not best:
        return f"no method has a finite mean ({joined(sorted(found.means))})"
    value = found.number(best[0])
    rivals = [m for m in found.means if m not in verdict.best]
    if not rivals:
        if len(best) > 1:
            return f"{joined(best)} are equal ({value})"
        return f"{best[0]} is the only method with a score ({value})"
    verb = "share" if len(best) > 1 else "has"
    lead = f"{joined(best)} {verb} the best mean ({value})"
    close, worse = [[m for m in rivals if m in group] for group in (verdict.close, verdict.worse)]
    if not verdict.adjusted:
        return f"{lead}, but no difference was tested: {verdict.untested}"
    rest = [m for m in rivals if m not in verdict.adjusted]
    parts = [lead]
    if close and not worse:
        parts[0] += ", but " + _not_worse(close, found, whole=not rest)
    elif close:
        parts += [_not_worse(close, found), _worse(worse, others=True)]
    else:
        parts[0] += " and " + _worse(worse, others=False, whole=not rest)
    if rest:
        parts.append(f"{joined(rest, MOST_NAMES)} could not be tested against it")
    return "; ".join(parts)


def _not_worse(close: list[str], found: Judged, whole: bool = False) -> str:
    ordered = sorted(
        close, key=lambda m: abs(found.means[m] - found.means[min(found.verdict.best)])
    )
    if whole and len(close) > MOST_NAMES:
        return f"none of the {len(close)} other methods is significantly worse"
    named = [f"{m} ({found.number(m)})" for m in ordered[:MOST_NAMES]]
    verb = "is" if len(close) == 1 else "are"
    return f"{some_of(named, len(close))} {verb} not significantly worse"


def _worse(worse: list[str], others: bool, whole: bool = False) -> str:
    if others:
        return f"the other {len(worse)} are" if len(worse) > 1 else f"{worse[0]} is"
    if whole and len(worse) > 1:
        return f"all {len(worse)} other methods are significantly worse"
    verb = "is" if len(worse) == 1 else "are"
    return f"{joined(worse, MOST_NAMES)} {verb} significantly worse"


def short(found: Judged) -> str:
    """Return the best of one metric on one data set in few words."""
    verdict, best = found.verdict, sorted(found.verdict.best)
    if not best:
        return f"no method has a finite {found.name}"
    text = f"{joined(best, 2)} {'share' if len(best) > 1 else 'has'} the best {found.name}"
    text += f" ({found.number(best[0])})"
    if len(found.means) == len(best):
        return text
    if not verdict.adjusted:
        return f"{text}, differences not tested"
    if not verdict.close:
        return f"{text}, significantly" if not verdict.untested else text
    return f"{text}, {counted(len(verdict.close), 'method')} not significantly worse"


def _on_several(
    by_metric: dict[str, list[Judged]], methods: Sequence[str], sets: int
) -> tuple[str, str]:
    """Return sentence and line about several data sets."""
    clauses = [f"by {found[0].name}, {_across(found)}" for found in by_metric.values()]
    opening = f"of {len(methods)} methods on {sets} data sets"
    if len(methods) == 1:
        opening = f"on {sets} data sets"
    text = labels.sentence(f"{opening}, " + "; ".join(clauses)) + "."
    name, found = next(iter(by_metric.items()))
    return text, labels.sentence(f"by {labels.metric(name)}, {_across(found, most=1)}") + "."


def _across(found: Sequence[Judged], most: int = 3) -> str:
    """Return how often methods are best or close to it, over data sets."""
    tested = [j for j in found if j.verdict.adjusted]
    only = {m for j in found for m in j.means}
    if len(only) == 1:
        return f"{only.pop()} is the only method with a score"
    counts: dict[str, int] = {}
    for j in tested or found:
        for method in j.verdict.best | (j.verdict.close if tested else frozenset()):
            counts[method] = counts.get(method, 0) + 1
    top = len(tested or found)
    groups: dict[int, list[str]] = {}
    for method, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        groups.setdefault(count, []).append(method)
    told = []
    for i, (count, names) in enumerate(list(groups.items())[:most]):
        verb = ("is" if len(names) == 1 else "are") if i == 0 else ""
        said = "best or not significantly worse than the best" if tested else "best by the mean"
        how_often = f"{'both' if top == 2 else 'all'} {top}" if count == top > 1 else f"{count}"
        of = f" of {top}" if count < top else ""
        place = f"on {how_often}{of}" + (" data sets" if i == 0 else "")
        told.append(
            f"{joined(names, MOST_NAMES)} {verb} {said} {place}"
            if i == 0
            else f"{joined(names, MOST_NAMES)} {place}"
        )
    if tested and len(tested) < len(found):
        told.append(f"differences were not tested on {len(found) - len(tested)}")
    if not tested:
        told.append(f"no difference was tested: {found[0].verdict.untested}")
    return ", ".join(told[:-1]) + (", " if len(told) > 1 else "") + told[-1]


def _cost(of: Costs | None, first: Sequence[Judged]) -> str:
    """Return what the best method costs beside AdamW or the cheapest, and the cheapest as good."""
    if of is None:
        return ""
    best: dict[str, int] = {}
    for j in first:
        for method in j.verdict.best & of.ratios.keys():
            best[method] = best.get(method, 0) + 1
    if not best:
        return ""
    champion = max(sorted(best), key=lambda m: best[m])
    as_good = set.intersection(
        *({*j.verdict.best, *j.verdict.close} & of.ratios.keys() for j in first)
    )
    text = _takes(champion, of)
    cheapest = min(sorted(as_good), key=lambda m: of.ratios[m], default=None)
    if cheapest and of.ratios[cheapest] < of.ratios[champion] / 1.05:
        text += f"; the cheapest that is nowhere significantly worse is {_at(cheapest, of)}"
    return f"{text}."


def _takes(method: str, of: Costs) -> str:
    if method == of.base:
        cheapest = " the cheapest method," if of.base_is_cheapest else ""
        return f"{method},{cheapest} takes {of.seconds(method)} per fit"
    return f"{method} takes {of.times(method)} of {of.base} ({of.seconds(method)} per fit)"


def _at(method: str, of: Costs) -> str:
    if method == of.base:
        return f"{method} itself"
    return f"{method}, with {of.times(method)}"


def _failures(ended: dict[str, Success]) -> list[str]:
    """Return what became of the runs that no mean holds."""
    short = [s for s in ended.values() if not s.whole]
    if not short:
        return []
    asked, missing = sum(s.asked for s in ended.values()), sum(s.asked - s.completed for s in short)
    ends = {
        "diverged": sum(s.diverged for s in short),
        "failed": sum(s.failed for s in short),
        "lacking": sum(s.missing for s in short),
    }
    kinds = [end for end, count in ends.items() if count]
    worst = sorted(short, key=lambda s: s.share)
    named = [f"{s.method} {s.asked - s.completed} of {s.asked}" for s in worst[:MOST_NAMES]]
    verb = "is" if kinds == ["lacking"] and missing == 1 else "are" if kinds == ["lacking"] else ""
    what = joined(kinds, last="or")
    said = f"{missing} of {asked} runs {verb} {what}".replace("  ", " ")
    return [f"{said} ({some_of(named, len(short), 'method')})"]


def _undetectable(by_metric: dict[str, list[Judged]]) -> list[str]:
    """Return the least differences that the tests were likely to find."""
    told = []
    for found in by_metric.values():
        if len(found) == 1 and (text := _least(found[0])):
            told.append(text)
    if not told:
        return []
    return [
        f"with this budget, a difference from the best below about {joined(told, last='or')} "
        f"is likely to be missed (power 0.8 at level {LEVEL:.0%})".replace("%", " %")
    ]


def _least(found: Judged) -> str:
    verdict = found.verdict
    among = [verdict.detectable[m] for m in verdict.close or verdict.detectable]
    among = sorted(d for d in among if d > 0)
    if not among:
        return ""
    return f"{found.amount(among[len(among) // 2])} in {found.name}"


def _where(benchmark: Benchmark) -> str:
    name = labels.dataset(benchmark.title)
    return f"{name} (stand-in data)" if benchmark.origin == "stand-in" else name


def _sentence(clauses: Sequence[str]) -> str:
    return f"{labels.sentence('; '.join(clauses))}." if clauses else ""
