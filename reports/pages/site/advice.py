"""The answer to a question on its own data sets, in a headline and a few sentences.

`templates/scripts/advice.js` has the same texts; a browser test compares the two.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from bnnbench.metrics.statistics import mean, replicates
from bnnbench.reports.judge.over_sets.grades import Evidence, short
from bnnbench.reports.judge.over_sets.league import SAME
from bnnbench.reports.judge.over_sets.verdict import share_first
from bnnbench.reports.pages.site.ranking import Ranking, fits_of, no_better_than_constants, ranked
from bnnbench.reports.style.numbers import duration
from bnnbench.reports.style.words import counted, counted_in_words, joined, spelled

FEW_NAMES = 3
"""Longer lists of names are counted."""
FEWEST_SETS = 3
"""Minimum number of data sets for checking how the choice depends on each of them."""
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
    title, place = ranking.scale.title, _place(ranking)
    best = f"the best mean {title} on {place}"
    if not others:
        return Advice(f"{first} alone was compared.", f"It has the only {title} on {place}.")
    if ranking.standings.decision.untested:
        runs = counted_in_words(ranking.replicates, _noun(ranking))
        return Advice(
            f"{first} has the best mean; nothing is decided.",
            f"It has {best}. {_capital(runs)} are too few to tell any two methods apart.",
        )
    use, guarded = _guarded(ranking, first)
    if guarded:
        unknown = f"Use {use} first: not shown to be best."
        return Advice(unknown if use else "Use none of these for calibration.", guarded)
    evidence = evidence_of(ranking)
    use = _cheaper(ranking, first)
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
        sentences += [f"{_all(others)} worse.", *_without_one(evidence)]
        sentences += _time_of(ranking, use, first)
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
    sentences += _without_one(evidence)
    cheapest = _cheapest(ranking, open_, use)
    if cheapest:
        sentences.append(
            f"The cheapest that may be best is {cheapest}: {_seconds(ranking, cheapest)} a fit; "
            f"{use} takes {_seconds(ranking, use)}."
        )
    else:
        sentences += _time_of(ranking, use, first)
    return Advice(short(evidence, use), " ".join(sentences))


def evidence_of(ranking: Ranking) -> Evidence:
    """Return what decides the grade of a ranking's first method, on its own data sets."""
    compared, decision = ranking.compared, ranking.standings.decision
    first = compared[0].method
    means = _means_by_set(ranking) if _is_apart(ranking) else np.zeros((len(compared), 0))
    sets = len(means[0])
    several = sets > 1 and _share_no_row(ranking)
    others: dict[str, str] = {}
    if sets >= FEWEST_SETS:
        for k, column in enumerate(ranking.columns):
            sums = np.delete(means, k, axis=1).sum(1)
            if sums.min() < sums[0] - SAME:
                others[column.title] = compared[int(sums.argmin())].method
    return Evidence(
        first,
        sum(row.method not in decision.leaders for row in compared),
        len(ranking.of("worse")),
        len(ranking.of("equal")),
        others,
        share_first(-means, 0) if several else None,
        place=_scope(ranking),
    )


def _share_no_row(ranking: Ranking) -> bool:
    """Return whether no two columns are cut from the same rows, as far as splits can tell."""
    if not all(column.by_fold for column in ranking.columns):
        return False
    sources = [column.source for column in ranking.columns if column.source is not None]
    return len(sources) == len(set(sources))


def _means_by_set(ranking: Ranking) -> Float[ndarray, "methods sets"]:
    """Return the mean lowered score of the compared methods, in their order, on every data set."""
    names = [row.method for row in ranking.compared]
    of_sets = [
        [mean(replicates(fits.samples[name], fits.by_fold)) for name in names]
        for fits in fits_of(ranking.task, ranking.scale, ranking.columns, names)
    ]
    return np.array(of_sets).T


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
    return row.method, (
        f"{_capital(_named(refused))} {has} a lower calibration error on {_place(ranking)}, "
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


def _cheapest(ranking: Ranking, methods: list[str], use: str) -> str:
    """Return the cheapest of some methods, if it is cheaper than `use` and times are comparable."""
    seconds = {row.method: row.seconds for row in ranking.compared}
    timed = {m: time for m in methods if (time := seconds[m])}
    if not ranking.task.of_processors or len(timed) < 2 or not (use_seconds := seconds[use]):
        return ""
    cheapest = min(timed, key=lambda m: timed[m])
    return cheapest if timed[cheapest] < use_seconds else ""


def _without_one(evidence: Evidence) -> list[str]:
    """Return a sentence on the data sets without which another method has the best mean."""
    others = evidence.others_first
    if len(others) > FEW_NAMES:
        count = spelled(len(others))
        return [f"For {count} of them, leaving that one out gives another method the best mean."]
    parts = [f"without {title}: {best}" for title, best in others.items()]
    return [f"Best mean {'; '.join(parts)}."] if parts else []


def _time_of(ranking: Ranking, use: str, first: str) -> list[str]:
    """Return the sentence on the first method's time, unless times cannot be compared."""
    known = next(row.seconds for row in ranking.compared if row.method == use)
    if use != first or not known or not ranking.task.of_processors:
        return []
    return [f"{use} takes {_seconds(ranking, use)} a fit."]


def _place(ranking: Ranking) -> str:
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
    noun = "data sets" if _is_apart(ranking) else "conditions"
    return f"these {spelled(len(ranking.columns))} {noun}"


def _is_apart(ranking: Ranking) -> bool:
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
