"""Sentences about the best methods: by decisions on one data set, also by ranks on several."""

from collections.abc import Iterable, Mapping, Sequence

from bnnbench.reports.judge.measures import Judged
from bnnbench.reports.judge.over_sets.grades import Evidence, claim, grade, sentence
from bnnbench.reports.judge.over_sets.verdict import Verdict
from bnnbench.reports.judge.ranks import Ranks
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style import labels
from bnnbench.reports.style.words import counted_in_words, joined, plural, quoted

MOST_NAMES = 4
MOST_GROUPS = 2


def on_one(results: Sequence[Judged], methods: int) -> str:
    """Return the sentences about one data set, by each of its main metrics."""
    verb = "was" if methods == 1 else "were"
    where, many = _where(results[0].benchmark), counted_in_words(methods, "method")
    opening = f"On {where}, {many} {verb} run."
    texts = [text for result in results for text in result.verdict]
    texts += [text for result in results for text in result.remarks]
    return " ".join(dict.fromkeys([opening, *texts]))


def short(result: Judged) -> str:
    """Return a short sentence about the best method by one metric on one data set."""
    return f"{_where(result.benchmark)}: {result.verdict[0]}"


def across(
    by_metric: Mapping[str, Sequence[Judged]],
    ranked: Mapping[str, Ranks | None],
    verdicts: Mapping[str, Verdict | None],
    methods: int,
    sets: int,
) -> str:
    """Return the sentence about several data sets; the keys of all mappings are metrics.

    With a decision over data sets, it is the answer; without one, ranks are, or counts.
    """
    opening = f"of {methods} methods on {sets} data sets" if methods > 1 else f"on {sets} data sets"
    parts = []
    for metric, scored in by_metric.items():
        ranking, over_sets = ranked[metric], verdicts[metric]
        clause = _by_rank(ranking, scored, sets) if ranking else _counts(scored)
        if over_sets:
            clause = claim(over_sets.evidence)
        parts.append(f"by {scored[0].name}, {clause}")
    return f"{labels.sentence(opening)}, {'; '.join(parts)}."


def short_across(
    results: Sequence[Judged], ranking: Ranks | None, over_sets: Verdict | None
) -> str:
    """Return a short sentence about the best methods by one metric over several data sets."""
    if over_sets:
        return f"By {results[0].name}, {sentence(over_sets.evidence)}"
    if not ranking:
        return f"By {results[0].name}, {_counts(results, groups=1)}."
    first, *others = ranking.places
    text = f"{first.method} ranks best by {ranking.name} over {len(ranking.sets)} data sets"
    if not ranking.can_tell:
        return f"{text}, which are too few to tell ranks apart."
    open_ = sum(not place.worse for place in others)
    graded = grade(Evidence(first.method, len(others), len(others) - open_))
    if graded == "best":
        return f"{text}; all others rank worse."
    known = f"{counted_in_words(open_, 'method')} cannot be told from it by rank"
    return f"{text}; {known}" + (": not shown to be best." if graded != "leads" else ".")


def is_good(result: Judged, method: str) -> bool:
    """Return whether a method is best or practically equal to the best."""
    standing = result.decision.standings.get(method)
    return standing is not None and standing.state in ("best", "equal")


def _by_rank(ranking: Ranks, results: Sequence[Judged], sets: int) -> str:
    """Return the clause on the best mean rank and the methods not separated from it."""
    first, *others = ranking.places
    fewer = f" on {len(ranking.sets)} of the data sets" if len(ranking.sets) < sets else ""
    place = f"{first.rank:.1f} of {len(ranking.places)}{fewer}"
    text = f"{quoted(first.method)} has the best mean rank ({place})"
    if tested := [j for j in results if j.decision.question]:
        good = sum(is_good(j, first.method) for j in tested)
        text += f" and is best or practically equal to the best {_place(good, len(tested))}"
    if not ranking.can_tell:
        return f"{text}; so few data sets cannot tell ranks apart"
    open_ = [quoted(place.method) for place in others if not place.worse]
    if not open_:
        return f"{text}; all others rank worse"
    text += f"; {joined(open_, MOST_NAMES)} cannot be told from it by rank"
    worse = len(others) - len(open_)
    verb = "ranks" if worse == 1 else "rank"
    return f"{text}, the other{f' {worse}' * (worse > 1)} {verb} worse" if worse else text


def _counts(results: Sequence[Judged], groups: int = MOST_GROUPS) -> str:
    """Return the clause on how many data sets each method is best, or equal to the best, on."""
    scored = {m for j in results for m in j.cells}
    if len(scored) == 1:
        return f"{quoted(scored.pop())} is the only method with a score"
    tested = [j for j in results if j.decision.question]
    good = [(m, j) for j in tested for m in j.cells if is_good(j, m)]
    if good:
        claim = "best or practically equal to the best"
        text = _grouped((m for m, _ in good), len(tested), ("is", "are"), claim, groups)
    else:
        leaders = (m for j in results for m in j.decision.leaders)
        text = _grouped(leaders, len(results), ("has", "each have"), "the best mean", groups)
        if not text:
            return "no method has a complete set of runs"
        if tested:
            return f"{text}, but none is settled as the best anywhere"
    if left := len(results) - len(tested):
        where = f" on {left} of {len(results)}" if tested else ""
        text += f"; differences were not tested{where}"
    return text


def _grouped(
    methods: Iterable[str], total: int, verbs: tuple[str, str], claim: str, groups: int
) -> str:
    """Return "A is `claim` on 3 of 5 data sets, B on 2 of 5", the most frequent first."""
    counts: dict[str, int] = {}
    for method in methods:
        counts[method] = counts.get(method, 0) + 1
    by_count: dict[int, list[str]] = {}
    for method, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        by_count.setdefault(count, []).append(quoted(method))
    clauses = []
    for k, (count, names) in enumerate(list(by_count.items())[:groups]):
        says = "" if k else f" {verbs[len(names) > 1]} {claim}"
        clauses.append(f"{joined(names, MOST_NAMES)}{says} {_place(count, total, brief=k > 0)}")
    return ", ".join(clauses)


def _place(count: int, total: int, brief: bool = False) -> str:
    noun = "" if brief else f" data {plural('set', total)}"
    if total == 1:
        return "on the only one that was tested"
    if count == total:
        return f"on {'both' if total == 2 else f'all {total}'}{noun}"
    return f"on {count or 'none'} of {total}{noun}"


def _where(benchmark: Benchmark) -> str:
    name = benchmark.title
    return f"{name} (stand-in data)" if benchmark.origin == "stand-in" else name
