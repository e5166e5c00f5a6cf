"""Sentences about the best methods: on one data set by paired tests, on several also by ranks."""

from collections.abc import Mapping, Sequence

from bnnbench.reports.judge.measures import Judged
from bnnbench.reports.judge.ranks import Ranks
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style import labels
from bnnbench.reports.style.words import counted, joined, quoted, some_of

MOST_NAMES = 4
MOST_GROUPS = 2


def on_one(results: Sequence[Judged], methods: int) -> str:
    """Return the sentence about one data set, by each of its main metrics."""
    where = _where(results[0].benchmark)
    opening = f"on {where}" if methods == 1 else f"of {methods} methods on {where}"
    if reason := _untested(results):
        leads = [_lead(j) for j in results]
        if len({j.verdict.best for j in results}) == 1 and results[0].verdict.best:
            # "A has the best mean NLL (1.2) and the best mean accuracy (50 %)"
            leads[1:] = [_best_value(j) for j in results[1:]]
        return f"{labels.sentence(opening)}, {joined(leads)}, but {reason}."
    parts = [f"by {j.name}, {_clause(j)}" for j in results]
    return f"{labels.sentence(opening)}, {'; '.join(parts)}."


def across(
    by_metric: Mapping[str, Sequence[Judged]],
    ranked: Mapping[str, Ranks | None],
    methods: int,
    sets: int,
) -> str:
    """Return the sentence about several data sets; the keys of both mappings are metrics."""
    opening = f"of {methods} methods on {sets} data sets" if methods > 1 else f"on {sets} data sets"
    reason = _untested([j for scored in by_metric.values() for j in scored])
    parts = []
    for metric, scored in by_metric.items():
        ranking = ranked[metric]
        clause = _by_rank(ranking, scored, sets) if ranking else _counts(scored, not reason)
        parts.append(f"by {scored[0].name}, {clause}")
    end = f"; {reason}" if reason else ""
    return f"{labels.sentence(opening)}, {'; '.join(parts)}{end}."


def _untested(results: Sequence[Judged]) -> str:
    """Return the clause that nothing was tested, if that has one reason everywhere; else "" """
    reasons = {j.verdict.untested for j in results}
    if len(reasons) > 1 or "" in reasons or any(j.verdict.adjusted for j in results):
        return ""
    return f"no difference was tested: {reasons.pop()}"


def short(result: Judged) -> str:
    """Return a short sentence about the best methods by one metric on one data set."""
    verdict, where = result.verdict, _where(result.benchmark)
    if not verdict.best:
        return f"No method has a finite {result.name} on {where}."
    text = f"{labels.sentence(_lead(result, mean=False))} on {where}"
    rivals = len(result.means) - len(verdict.best)
    if not rivals:
        return f"{text}."
    if not verdict.adjusted:
        return f"{text}; differences were not tested."
    if len(verdict.adjusted) < rivals:
        return f"{text}; {_count_close(len(verdict.close))} among those tested."
    if not verdict.close:
        others = "the other method is" if rivals == 1 else f"all {rivals} others are"
        return f"{text}; {others} significantly worse."
    return f"{text}; {_count_close(len(verdict.close))}."


def short_across(results: Sequence[Judged], ranking: Ranks | None) -> str:
    """Return a short sentence about the best methods by one metric over several data sets."""
    if not ranking:
        untested = (
            "" if any(j.verdict.adjusted for j in results) else "; differences were not tested"
        )
        return f"By {results[0].name}, {_counts(results, False, groups=1)}{untested}."
    first, *others = ranking.places
    text = f"{first.method} ranks best by {ranking.name} over {len(ranking.sets)} data sets"
    if not ranking.can_tell:
        return f"{text}, which are too few to tell ranks apart."
    close = sum(not place.worse for place in others)
    if not close:
        return f"{text}; all others rank significantly worse."
    verb = "does" if close == 1 else "do"
    return f"{text}; {counted(close, 'method')} {verb} not rank significantly worse."


def _lead(result: Judged, mean: bool = True) -> str:
    """Return a clause like "A has the best mean NLL (1.2 ± 0.1 nats)"."""
    best = sorted(result.verdict.best)
    if not best:
        return f"no method has a finite mean {result.name}"
    names = joined([quoted(m) for m in best], MOST_NAMES)
    if len(result.means) == 1:
        return f"{names} alone has {_article(result.name)} {result.name} ({result.number(best[0])})"
    verb = "share" if len(best) > 1 else "has"
    return f"{names} {verb} {_best_value(result, mean)}"


def _best_value(result: Judged, mean: bool = True) -> str:
    """Return a phrase like "the best mean accuracy (50 %)"."""
    best = min(result.verdict.best)
    return f"the best {'mean ' * mean}{result.name} ({result.number(best)})"


def _clause(result: Judged) -> str:
    """Return the clause on the tests against the best method by one metric on one data set."""
    verdict, best = result.verdict, sorted(result.verdict.best)
    rivals = [m for m in result.means if m not in verdict.best]
    if not best:
        return "no method has a finite mean"
    names, value = joined([quoted(m) for m in best], MOST_NAMES), result.number(best[0])
    if not rivals and len(best) == 1:
        return f"{names} is the only method with a score ({value})"
    lead = f"{names} {'share' if len(best) > 1 else 'has'} the best mean ({value})"
    if not rivals:
        return lead
    if not verdict.adjusted:
        reason = verdict.untested or "their means are not finite"
        return f"{lead}, but no difference was tested: {reason}"
    close = sorted((m for m in rivals if m in verdict.close), key=lambda m: _behind(result, m))
    worse = [m for m in rivals if m in verdict.worse]
    rest = [m for m in rivals if m not in verdict.adjusted]
    if not close:
        text = f"{lead}, and {_worse(worse, whole=not rest)}"
    elif worse:
        others = "the other is" if len(worse) == 1 else f"the other {len(worse)} are"
        others = others if not rest else _worse(worse)
        text = f"{lead}; {_not_worse(close, result)}, {others}"
    else:
        text = f"{lead}, but {_not_worse(close, result, whole=not rest)}"
    if rest:
        text += f"; {joined([quoted(m) for m in rest], MOST_NAMES)} could not be tested"
    return text


def _behind(result: Judged, method: str) -> float:
    return abs(result.means[method] - result.means[min(result.verdict.best)])


def _not_worse(close: Sequence[str], result: Judged, whole: bool = False) -> str:
    if whole and len(close) > MOST_NAMES:
        return f"none of the {len(close)} others is significantly worse"
    named = [f"{quoted(m)} ({result.number(m)})" for m in close[:MOST_NAMES]]
    verb = "is" if len(close) == 1 else "are"
    return f"{some_of(named, len(close))} {verb} not significantly worse"


def _worse(worse: Sequence[str], whole: bool = False) -> str:
    if whole and len(worse) > 1:
        return f"all {len(worse)} others are significantly worse"
    verb = "is" if len(worse) == 1 else "are"
    return f"{joined([quoted(m) for m in worse], MOST_NAMES)} {verb} significantly worse"


def _by_rank(ranking: Ranks, results: Sequence[Judged], sets: int) -> str:
    """Return the clause on the best mean rank and the methods that are not significantly worse."""
    first, *others = ranking.places
    fewer = f" on {len(ranking.sets)} of the data sets" if len(ranking.sets) < sets else ""
    place = f"{first.rank:.1f} of {len(ranking.places)}{fewer}"
    text = f"{quoted(first.method)} has the best mean rank ({place})"
    tested = [j for j in results if j.verdict.adjusted]
    if tested:
        good = sum(first.method in j.verdict.best | j.verdict.close for j in tested)
        text += f" and is best or not significantly worse than the best {_place(good, len(tested))}"
    if not ranking.can_tell:
        return f"{text}; so few data sets cannot tell ranks apart"
    close = [quoted(place.method) for place in others if not place.worse]
    if not close:
        return f"{text}; all others rank significantly worse"
    verb = "does" if len(close) == 1 else "do"
    worse = len(others) - len(close)
    text += f"; {joined(close, MOST_NAMES)} {verb} not rank significantly worse"
    return text + (
        f", the other{f' {worse}' * (worse > 1)} {'does' if worse == 1 else 'do'}" if worse else ""
    )


def _counts(results: Sequence[Judged], why: bool = True, groups: int = MOST_GROUPS) -> str:
    """Return the clause that counts the data sets on which methods are best or close to it.

    `why` adds the reason where nothing was tested.
    """
    tested = [j for j in results if j.verdict.adjusted]
    used = tested or results
    scored = {m for j in results for m in j.means}
    if len(scored) == 1:
        return f"{quoted(scored.pop())} is the only method with a score"
    counts: dict[str, int] = {}
    for j in used:
        for method in j.verdict.best | (j.verdict.close if tested else frozenset()):
            counts[method] = counts.get(method, 0) + 1
    by_count: dict[int, list[str]] = {}
    for method, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        by_count.setdefault(count, []).append(quoted(method))
    if not by_count:
        return "no method has a finite mean"
    clauses = []
    for k, (count, names) in enumerate(list(by_count.items())[:groups]):
        listed = joined(names, MOST_NAMES)
        if k:
            clauses.append(f"{listed} {_place(count, len(used), brief=True)}")
            continue
        many = len(names) > 1
        if tested:
            claim = f"{'are' if many else 'is'} best or not significantly worse than the best"
        else:
            claim = f"{'each have' if many else 'has'} the best mean"
        clauses.append(f"{listed} {claim} {_place(count, len(used))}")
    text = ", ".join(clauses)
    if not tested and not why:
        return text
    if not tested:
        reason = next((j.verdict.untested for j in results if j.verdict.untested), "")
        return f"{text}, but no difference was tested" + (f": {reason}" if reason else "")
    if left := len(results) - len(tested):
        text += f"; differences were not tested on {left} of {len(results)}"
    return text


def _place(count: int, total: int, brief: bool = False) -> str:
    noun = "" if brief else " data sets"
    if total == 1:
        return "on the only one that was tested"
    if count == total:
        return f"on {'both' if total == 2 else f'all {total}'}{noun}"
    return f"on {count or 'none'} of {total}{noun}"


def _count_close(count: int) -> str:
    if not count:
        return "none is close"
    return f"{counted(count, 'method')} {'is' if count == 1 else 'are'} not significantly worse"


def _article(noun: str) -> str:
    spelled = noun[1:2].isupper() and noun[:1] in "NRFL"  # an NLL, an RMSE
    return "an" if spelled or noun[:1].lower() in "aeiou" else "a"


def _where(benchmark: Benchmark) -> str:
    name = benchmark.title
    return f"{name} (stand-in data)" if benchmark.origin == "stand-in" else name
