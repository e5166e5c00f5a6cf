"""Who is best, in words: on one data set by paired tests, over several also by mean ranks."""

from collections.abc import Mapping, Sequence

from bnnbench.reports.judge.measures import Judged
from bnnbench.reports.judge.ranks import Ranks
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style import labels
from bnnbench.reports.style.words import counted, joined, quoted, some_of

MOST_NAMES = 4
MOST_GROUPS = 2


def on_one(found: Sequence[Judged], methods: int) -> str:
    """Return the sentence about one data set, by each of its main metrics."""
    where = _where(found[0].benchmark)
    opening = f"on {where}" if methods == 1 else f"of {methods} methods on {where}"
    if reason := _untested(found):
        leads = [_lead(j) for j in found]
        if len({j.verdict.best for j in found}) == 1:
            # "A has the best mean NLL (1.2) and the best mean accuracy (50 %)"
            leads[1:] = [f"the best {lead.partition(' the best ')[2]}" for lead in leads[1:]]
        return f"{labels.sentence(opening)}, {joined(leads)}, but {reason}."
    parts = [f"by {j.name}, {_clause(j)}" for j in found]
    return f"{labels.sentence(opening)}, {'; '.join(parts)}."


def across(
    found: Mapping[str, Sequence[Judged]],
    ranked: Mapping[str, Ranks | None],
    methods: int,
    sets: int,
) -> str:
    """Return the sentence about several data sets; `found` and `ranked` are by metric."""
    opening = f"of {methods} methods on {sets} data sets" if methods > 1 else f"on {sets} data sets"
    reason = _untested([j for scored in found.values() for j in scored])
    parts = []
    for metric, scored in found.items():
        ranking = ranked[metric]
        told = _by_rank(ranking, scored, sets) if ranking else _counts(scored, not reason)
        parts.append(f"by {scored[0].name}, {told}")
    end = f"; {reason}" if reason else ""
    return f"{labels.sentence(opening)}, {'; '.join(parts)}{end}."


def _untested(found: Sequence[Judged]) -> str:
    """Return that nothing was tested and why, where that is so for one reason; else "" """
    reasons = {j.verdict.untested for j in found}
    if len(reasons) > 1 or "" in reasons or any(j.verdict.adjusted for j in found):
        return ""
    return f"no difference was tested: {reasons.pop()}"


def short(found: Judged) -> str:
    """Return the best of one metric on one data set in few words."""
    verdict, where = found.verdict, _where(found.benchmark)
    if not verdict.best:
        return f"No method has a finite {found.name} on {where}."
    text = f"{labels.sentence(_lead(found, mean=False))} on {where}"
    rivals = len(found.means) - len(verdict.best)
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


def short_across(found: Sequence[Judged], ranking: Ranks | None) -> str:
    """Return the best of one metric over several data sets in few words."""
    if not ranking:
        untested = "" if any(j.verdict.adjusted for j in found) else "; differences were not tested"
        return f"By {found[0].name}, {_counts(found, False, groups=1)}{untested}."
    first, *others = ranking.places
    text = f"{first.method} ranks best by {ranking.name} over {len(ranking.sets)} data sets"
    if not ranking.can_tell:
        return f"{text}, which are too few to tell ranks apart."
    close = sum(not place.worse for place in others)
    if not close:
        return f"{text}; all others rank significantly worse."
    verb = "does" if close == 1 else "do"
    return f"{text}; {counted(close, 'method')} {verb} not rank significantly worse."


def _lead(found: Judged, mean: bool = True) -> str:
    """Return who has the best mean: "A has the best mean NLL (1.2 ± 0.1 nats)"."""
    best = sorted(found.verdict.best)
    if not best:
        return f"no method has a finite mean {found.name}"
    names = joined([quoted(m) for m in best], MOST_NAMES)
    if len(found.means) == 1:
        return f"{names} alone has {_article(found.name)} {found.name} ({found.number(best[0])})"
    verb = "share" if len(best) > 1 else "has"
    return f"{names} {verb} the best {'mean ' * mean}{found.name} ({found.number(best[0])})"


def _clause(found: Judged) -> str:
    """Return what the tests say about the best of one metric on one data set."""
    verdict, best = found.verdict, sorted(found.verdict.best)
    rivals = [m for m in found.means if m not in verdict.best]
    if not best:
        return "no method has a finite mean"
    names, value = joined([quoted(m) for m in best], MOST_NAMES), found.number(best[0])
    if not rivals and len(best) == 1:
        return f"{names} is the only method with a score ({value})"
    lead = f"{names} {'share' if len(best) > 1 else 'has'} the best mean ({value})"
    if not rivals:
        return lead
    if not verdict.adjusted:
        reason = verdict.untested or "their means are not finite"
        return f"{lead}, but no difference was tested: {reason}"
    close = sorted((m for m in rivals if m in verdict.close), key=lambda m: _behind(found, m))
    worse = [m for m in rivals if m in verdict.worse]
    rest = [m for m in rivals if m not in verdict.adjusted]
    if not close:
        text = f"{lead}, and {_worse(worse, whole=not rest)}"
    elif worse:
        others = "the other is" if len(worse) == 1 else f"the other {len(worse)} are"
        others = others if not rest else _worse(worse)
        text = f"{lead}; {_not_worse(close, found)}, {others}"
    else:
        text = f"{lead}, but {_not_worse(close, found, whole=not rest)}"
    if rest:
        text += f"; {joined([quoted(m) for m in rest], MOST_NAMES)} could not be tested"
    return text


def _behind(found: Judged, method: str) -> float:
    return abs(found.means[method] - found.means[min(found.verdict.best)])


def _not_worse(close: Sequence[str], found: Judged, whole: bool = False) -> str:
    if whole and len(close) > MOST_NAMES:
        return f"none of the {len(close)} others is significantly worse"
    named = [f"{quoted(m)} ({found.number(m)})" for m in close[:MOST_NAMES]]
    verb = "is" if len(close) == 1 else "are"
    return f"{some_of(named, len(close))} {verb} not significantly worse"


def _worse(worse: Sequence[str], whole: bool = False) -> str:
    if whole and len(worse) > 1:
        return f"all {len(worse)} others are significantly worse"
    verb = "is" if len(worse) == 1 else "are"
    return f"{joined([quoted(m) for m in worse], MOST_NAMES)} {verb} significantly worse"


def _by_rank(ranking: Ranks, found: Sequence[Judged], sets: int) -> str:
    """Return who has the best mean rank and who does not rank significantly worse."""
    first, *others = ranking.places
    fewer = f" on {len(ranking.sets)} of the data sets" if len(ranking.sets) < sets else ""
    place = f"{first.rank:.1f} of {len(ranking.places)}{fewer}"
    text = f"{quoted(first.method)} has the best mean rank ({place})"
    tested = [j for j in found if j.verdict.adjusted]
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


def _counts(found: Sequence[Judged], why: bool = True, groups: int = MOST_GROUPS) -> str:
    """Return on how many data sets methods are best or close to it; `why` nothing was tested."""
    tested = [j for j in found if j.verdict.adjusted]
    used = tested or found
    scored = {m for j in found for m in j.means}
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
    told = []
    for k, (count, names) in enumerate(list(by_count.items())[:groups]):
        listed = joined(names, MOST_NAMES)
        if k:
            told.append(f"{listed} {_place(count, len(used), brief=True)}")
            continue
        many = len(names) > 1
        if tested:
            said = f"{'are' if many else 'is'} best or not significantly worse than the best"
        else:
            said = f"{'each have' if many else 'has'} the best mean"
        told.append(f"{listed} {said} {_place(count, len(used))}")
    text = ", ".join(told)
    if not tested and not why:
        return text
    if not tested:
        reason = next((j.verdict.untested for j in found if j.verdict.untested), "")
        return f"{text}, but no difference was tested" + (f": {reason}" if reason else "")
    if left := len(found) - len(tested):
        text += f"; differences were not tested on {left} of {len(found)}"
    return text


def _place(count: int, of: int, brief: bool = False) -> str:
    noun = "" if brief else " data sets"
    if of == 1:
        return "on the only one that was tested"
    if count == of:
        return f"on {'both' if of == 2 else f'all {of}'}{noun}"
    return f"on {count or 'none'} of {of}{noun}"


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
