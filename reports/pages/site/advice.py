"""The answer to a question on its own data sets, in a headline and a few sentences.

`templates/scripts/advice.js` has the same texts; a browser test compares the two.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from bnnbench.metrics.statistics import replicates
from bnnbench.reports.judge.given_sets import (
    FEWEST_SETS,
    Scores,
    first_without,
    first_without_replicate,
    share_first,
)
from bnnbench.reports.judge.over_sets.grades import Evidence, grade, short
from bnnbench.reports.judge.pooled import Fits
from bnnbench.reports.pages.site.below import far_below
from bnnbench.reports.pages.site.ranking import (
    Ranking,
    fits_of,
    no_better_than_constants,
    ranked,
)
from bnnbench.reports.style.numbers import duration
from bnnbench.reports.style.words import counted, counted_in_words, joined, spelled

FEW_NAMES = 3
"""Longer lists of names are counted."""
MUCH_CHEAPER = 0.5
"""An equal method is advised instead of the first if it takes less than this share of its time."""

USELESS = "worse by likelihood, or not shown to beat a constant prediction"


@dataclass(frozen=True)
class Advice:
    """The method to use first, and the certainty of that choice."""

    headline: str
    text: str


def advice(ranking: Ranking) -> Advice:
    """Return the answer according to a ranking."""
    compared = ranking.compared
    if not compared:
        return Advice(
            "No method was run on all of these.",
            "Leave out a data set below, or allow more time.",
        )
    first, others = compared[0].method, len(compared) - 1
    title, place = ranking.scale.title, place_in_words(ranking)
    best = f"the best mean {title} on {place}"
    if not others:
        return Advice(f"{first} alone was compared.", f"It has the only {title} on {place}.")
    if ranking.standings.decision.untested:
        return Advice(
            f"{first} has the best mean; nothing is decided.",
            f"It has {best}. {_capital(too_few(ranking))}.",
        )
    use, guarded = _guarded(ranking, first)
    if guarded:
        unknown = f"Use {use}: not shown to be best."
        return Advice(unknown if use else "Use none of these for calibration.", guarded)
    evidence = evidence_of(ranking)
    use = to_use(ranking, evidence)
    sentences = []
    if use == first:
        sentences.append(f"It has {best}.")
    else:
        sentences.append(
            f"It is within {_margin(ranking)} of {first}, which has {best}, for "
            f"{_seconds(ranking, use)} a fit instead of {_seconds(ranking, first)}."
        )
    open_, equal, worse = (ranking.of(state) for state in ("undecided", "equal", "worse"))
    alike = [m for m in ranking.standings.decision.leaders if m != first]
    if len(worse) == others:
        sentences += [f"{_all(others)} worse.", *_without_one(evidence), *_below(ranking, first)]
        sentences += [*unconverged_in_words(ranking), *_time_of(ranking, use, first)]
        return Advice(short(evidence, use), " ".join(sentences))
    if alike:
        verb = "has" if len(alike) == 1 else "have"
        sentences.append(f"{_named(alike)} {verb} exactly the same scores.")
    if equal:
        verb = "is" if len(equal) == 1 else "are"
        sentences.append(
            f"{_capital(_named(equal))} {verb} practically equal, within {_margin(ranking)}."
        )
    if open_:
        least, most = ranking.replicates, ranking.standings.decision.most_replicates
        span = f"{least} to " if least < most else ""
        runs = span + counted(most, _noun(ranking))
        each = " of each data set" if len({c.fits for c in ranking.columns}) > 1 else ""
        sentences.append(
            f"{_capital(_named(open_))} cannot be told from the best with {runs}{each}."
        )
    if worse:
        verb = "is" if len(worse) == 1 else "are"
        sentences.append(f"{_capital(_named(worse))} {verb} worse.")
    sentences += [*_failing(ranking), *_without_one(evidence), *_below(ranking, first)]
    sentences += [*unconverged_in_words(ranking), *_time_of(ranking, use, first)]
    return Advice(short(evidence, use), " ".join(sentences))


def too_few(ranking: Ranking) -> str:
    """Return the clause on why nothing was tested."""
    runs = counted_in_words(ranking.replicates, _noun(ranking))
    return (
        f"{runs} {'is' if ranking.replicates == 1 else 'are'} too few to tell any two methods apart"
    )


def to_use(ranking: Ranking, evidence: Evidence) -> str:
    """Return the method to use: by a settled grade the first, or an equal one at half its cost.

    By other grades it is the cheapest of those that are not shown to be worse, do not fail on a
    data set, and have a mean within the margin of the first's.
    """
    if grade(evidence) in ("best", "leads"):
        return _cheaper(ranking, evidence.first)
    return _cheapest(ranking, evidence.first)


def evidence_of(ranking: Ranking) -> Evidence:
    """Return what decides the grade of a ranking's first method, on its own data sets."""
    compared, decision = ranking.compared, ranking.standings.decision
    first, names = compared[0].method, [row.method for row in compared]
    fits = fits_of(ranking.task, ranking.scale, ranking.columns, names)
    sets, weights = [_scores(of, names) for of in fits], [of.weight for of in fits]
    return Evidence(
        first,
        sum(row.method not in decision.leaders for row in compared),
        len(ranking.of("worse")),
        len(ranking.of("equal")),
        {where: names[m] for where, m in _others_first(ranking, sets, weights).items()},
        share_first(sets, weights),
        f"redraws of {_noun(ranking)}s",
        part="data set" if len(sets) >= FEWEST_SETS else _noun(ranking),
        far_below=len(far_below(ranking.task, ranking.scale, ranking.columns, first)),
        place=_scope(ranking),
    )


def _others_first(ranking: Ranking, sets: Scores, weights: Sequence[float]) -> dict[str, int]:
    """Return what is left out → the method that is first without it, if that is another.

    Data sets are left out; with fewer than three, their splits or seeds.
    """
    if len(sets) >= FEWEST_SETS:
        if not is_apart(ranking):
            return {}
        return {ranking.columns[g].title: m for g, m in first_without(sets, weights).items()}
    noun, titles = _noun(ranking), {c.fits: c.title for c in reversed(ranking.columns)}
    where = [f" of {title}" for title in reversed(titles.values())] if len(sets) > 1 else [""]
    return {
        f"{noun} {k + 1}{where[g]}": m
        for (g, k), m in first_without_replicate(sets, weights).items()
    }


def _scores(of: Fits, names: Sequence[str]) -> Float[ndarray, "methods replicates"]:
    """Return the lowered scores of the compared methods, in their order, on their common runs."""
    common = sorted(set.intersection(*(set(of.samples[name]) for name in names)))
    return np.array(
        [replicates({run: of.samples[name][run] for run in common}, of.by_fold) for name in names]
    )


def _failing(ranking: Ranking) -> list[str]:
    """Return the sentence on methods that would be undecided, but fail on a data set."""
    rows = [row for row in ranking.compared if row.state == "fails"]
    if len(rows) > FEW_NAMES:
        return [f"{_capital(spelled(len(rows)))} others fail on a data set."]
    return [f"{row.method} fails on {joined(row.fails)}." for row in rows]


def _below(ranking: Ranking, first: str) -> list[str]:
    """Return the sentence on the conditions in which the first is worse than a constant."""
    below = far_below(ranking.task, ranking.scale, ranking.columns, first)
    if not below:
        return []
    where = f"{len(below)} of {len(ranking.columns)}" if len(ranking.columns) > 1 else "these data"
    return [f"On {where}, {first} is clearly worse than a constant prediction."]


def unconverged_fits(ranking: Ranking) -> dict[str, int]:
    """Return method → the number of its fits that did not converge, the best mean first.

    Conditions of the same fits count once.
    """
    columns = {column.fits: column.name for column in ranking.columns}.values()
    of = ranking.task.unconverged
    counts = {
        row.method: sum(of.get(name, {}).get(row.method, 0) for name in columns)
        for row in ranking.compared
    }
    return {method: count for method, count in counts.items() if count}


def unconverged_in_words(ranking: Ranking) -> list[str]:
    """Return the sentence on fits that did not converge, whose scores count."""
    counts = unconverged_fits(ranking)
    if not counts:
        return []
    named = [f"{counted(count, 'fit')} of {method}" for method, count in counts.items()]
    which = joined(named) if len(counts) <= FEW_NAMES else f"fits of {spelled(len(counts))} methods"
    return [f"Counted by score, though they did not converge: {which}."]


def _guarded(ranking: Ranking, first: str) -> tuple[str, str]:
    """Return the method to use by calibration, and the reason against the first; "" if none.

    A method that is worse by likelihood, or no better than a constant, can be well calibrated and
    still useless.
    """
    if ranking.scale.name != "calibration":
        return first, ""
    names = [column.name for column in ranking.columns]
    by_likelihood = ranked(ranking.task, "likelihood", names).standings.decision.standings
    refused: list[str] = []
    for row in ranking.compared:
        standing = by_likelihood.get(row.method)
        worse = bool(standing and standing.worse)
        if not worse and not no_better_than_constants(ranking, row.method):
            break
        refused.append(row.method)
    else:
        return (
            "",
            "All of them are worse by likelihood, or not shown to beat a constant prediction.",
        )
    if not refused:
        return first, ""
    has, is_ = ("has", "is") if len(refused) == 1 else ("have", "are")
    where = place_in_words(ranking)
    return row.method, (
        f"{_capital(_named(refused))} {has} a lower calibration error on {where}, "
        f"but {is_} {USELESS}."
    )


def _cheaper(ranking: Ranking, first: str) -> str:
    """Return the cheapest practically equal method, if it is much cheaper; else the first."""
    seconds = {row.method: row.seconds for row in ranking.compared}
    if not ranking.task.of_processors or not (first_seconds := seconds[first]):
        return first
    equal = {m: time for m in ranking.of("equal") if (time := seconds[m])}
    cheapest = min(equal, key=lambda m: equal[m], default=None)
    return cheapest if cheapest and equal[cheapest] < MUCH_CHEAPER * first_seconds else first


def _cheapest(ranking: Ranking, first: str) -> str:
    """Return the cheapest method within the margin that is not worse; the first if none is."""
    margin, rows = ranking.scale.margin, {row.method: row for row in ranking.compared}
    if not ranking.task.of_processors or margin is None or not rows[first].seconds:
        return first
    near = [
        row
        for row in ranking.compared
        if row.state in ("leads", "best", "undecided", "equal") and row.seconds
        if row.margin is not None and row.margin <= margin
    ]
    return min(near, key=lambda row: row.seconds or 0.0).method


def _without_one(evidence: Evidence) -> list[str]:
    """Return a sentence on what is left out where another method has the best mean."""
    others = evidence.others_first
    if len(others) > FEW_NAMES:
        return [
            f"Another has the best mean without one of {spelled(len(others))} {evidence.part}s."
        ]
    parts = [f"without {title}: {best}" for title, best in others.items()]
    return [f"Best mean {'; '.join(parts)}."] if parts else []


def _time_of(ranking: Ranking, use: str, first: str) -> list[str]:
    """Return the sentence on the first method's time, unless times cannot be compared."""
    known = next(row.seconds for row in ranking.compared if row.method == use)
    if use != first or not known or not ranking.task.of_processors:
        return []
    return [f"{use} takes {_seconds(ranking, use)} a fit."]


def place_in_words(ranking: Ranking) -> str:
    titles = [column.title for column in ranking.columns]
    return joined(titles) if len(titles) <= FEW_NAMES else _counted(ranking)


def _scope(ranking: Ranking) -> str:
    """Return what a headline's claim is about."""
    first, *others = ranking.columns
    place = _counted(ranking) if others else first.title
    if any(column.by_fold for column in ranking.columns):
        return place
    return f"{place}, one training set{' each' * bool(others)}"


def _counted(ranking: Ranking) -> str:
    noun = "data sets" if is_apart(ranking) else "conditions"
    return f"these {spelled(len(ranking.columns))} {noun}"


def is_apart(ranking: Ranking) -> bool:
    """Return whether every column has separate fits."""
    return len({column.fits for column in ranking.columns}) == len(ranking.columns)


def _noun(ranking: Ranking) -> str:
    return "split" if ranking.columns[0].by_fold else "seed"


def _margin(ranking: Ranking) -> str:
    margin = ranking.scale.margin
    assert margin is not None, "only with a margin are methods practically equal"
    unit = ranking.scale.unit
    return "1 point" if (margin, unit) == (1, "points") else f"{margin:.2g} {unit}"


def _seconds(ranking: Ranking, method: str) -> str:
    return duration(next(row.seconds or 0.0 for row in ranking.compared if row.method == method))


def _named(methods: list[str]) -> str:
    """Return the names of a few methods, or the number of many: "seven others"."""
    if len(methods) <= FEW_NAMES:
        return joined(methods)
    return f"{spelled(len(methods))} others"


def _all(others: int) -> str:
    if others == 1:
        return "The only other method is"
    return "Both others are" if others == 2 else f"All {spelled(others)} others are"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
