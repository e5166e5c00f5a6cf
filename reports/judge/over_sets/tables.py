"""The decision over data sets, and the worth of advice, as sentences and printed tables."""

from collections.abc import Iterator, Sequence
from statistics import fmean, median

from bnnbench.reports.judge.over_sets.grades import sentence
from bnnbench.reports.judge.over_sets.regret import Interval, Outcome, RuleOutcome
from bnnbench.reports.judge.over_sets.verdict import Verdict
from bnnbench.reports.style.numbers import duration, typographic
from bnnbench.reports.style.words import joined

Rows = list[tuple[str, ...]]

PLACES = (
    *("method", "share of the gap ± 95 %", "behind the first ±", "wins : losses"),
    *("below the constant", "mean rank", "worse", "a fit"),
)
ADVICE = (
    *("advice", "regret (95 %)", "less the board's first (95 %)", "p, Holm"),
    *("in {unit}: median", "mean", "worst set", "cost"),
)


def sentences(of: Verdict) -> list[str]:
    """Return the grade's sentence and what stands beside it."""
    first, league = of.places[0], of.league
    count, share = len(league.sets), of.evidence.share or 0.0
    told = [
        sentence(of.evidence),
        f"With one data set left out, {worse_range(of)} worse; {first.method} is first in "
        f"{100 * share:.0f} % of redraws of the sets.",
        f"It goes {100 * first.share:.0f} % of the way from a constant prediction to the best "
        f"method of each set, has mean rank {first.rank:.1f} of {len(of.places)}, and is worse "
        f"than the constant on {_sets(first.below, count)}.",
    ]
    if first.seconds:
        told.append(f"A fit takes {duration(first.seconds)}.")
    return [*told, f"{count} data sets, list {league.checksum}."]


def worse_range(of: Verdict) -> str:
    """Return "3 to 5 are", the number of worse methods when one data set is left out."""
    least, most = of.fewest_worse, of.most_worse
    if least == most:
        return f"{most or 'none'} {'is' if most < 2 else 'are'}"
    return f"{least} to {most} are"


def place_rows(of: Verdict) -> Rows:
    """Return a row for each method, the largest mean share first, below the heading `PLACES`."""
    count = len(of.league.sets)
    return [
        (
            joined([place.method, *of.league.alike[place.method]]),
            f"{place.share:.2f} ± {place.half_width:.2f}",
            f"{place.behind:.2f} ± {place.behind_half:.2f}" if k else "0",
            f"{place.wins} : {place.losses}" if k else "",
            f"{len(place.below)} of {count}",
            f"{place.rank:.1f}",
            ("yes" if place.worse else "no") + f" ({_p(place.adjusted_p)})" if k else "first",
            duration(place.seconds) if place.seconds else "unknown",
        )
        for k, place in enumerate(of.places)
    ]


def advice_rows(outcomes: Sequence[Outcome], rule: RuleOutcome | None) -> Rows:
    """Return a row for each kind of advice, below the heading `ADVICE`."""
    rows = [_advice_row(k, of) for k, of in enumerate(outcomes)]
    if rule:
        name = f"a rule on facts of the table (used for {100 * rule.used:.0f} % of sets)"
        less = _interval(rule.minus_first, sign=True)
        rows.append((name, _interval(rule.regret), less, *[""] * 5))
    return rows


def worth(outcomes: Sequence[Outcome], noise: float) -> str:
    """Return what the advice is worth on a data set that it has not seen, in a sentence."""
    board, *rivals = outcomes
    constants = [of for of in rivals if of.adjusted_p is not None]
    others = "; ".join(f"{of.name} {of.regret.value:.2f}" for of in constants)
    text = (
        "On a data set left out of these, the method that is first on the others falls short of "
        f"the best by {_interval(board.regret)} of the gap to a constant prediction"
    )
    text += f" ({others})" if others else ""
    text += f"; even the best on half of its splits falls short by {noise:.2f} on the other half."
    return " ".join([text, *_shortlist_sentence(rivals)])


def winner(outcomes: Sequence[Outcome]) -> Outcome | None:
    """Return the shortlist of three if it is shown to be better advice than the board's first."""
    three = three_of(outcomes)
    return three if three and three.minus_first.high < 0 else None


def three_of(outcomes: Sequence[Outcome]) -> Outcome | None:
    """Return the outcome of the shortlist of three, if there is one."""
    return next((of for of in outcomes if of.keeps_best and len(of.members) == 3), None)


def _shortlist_sentence(outcomes: Sequence[Outcome]) -> Iterator[str]:
    three = three_of(outcomes)
    if three is None:
        return
    names, cost = joined(list(three.members)), duration(three.seconds)
    regret = f"falls short by {_interval(three.regret)}"
    if winner(outcomes):
        yield f"Run these three, and keep the best on held-out rows: {names} ({cost}); it {regret}."
    else:
        yield (
            f"Running {names} and keeping the best on held-out rows {regret} ({cost}); it is not "
            "shown to be better."
        )


def _advice_row(k: int, of: Outcome) -> tuple[str, ...]:
    nats = list(of.nats.values())
    return (
        of.name,
        _interval(of.regret),
        _interval(of.minus_first, sign=True) if k else "",
        "" if of.adjusted_p is None else _p(of.adjusted_p),
        _signed(median(nats)),
        _signed(fmean(nats)),
        f"{of.worst} ({_signed(of.nats[of.worst])})",
        duration(of.seconds) if of.seconds == of.seconds else "unknown",
    )


def _interval(of: Interval, sign: bool = False) -> str:
    value, low, high = (f"{v:+.2f}" if sign else f"{v:.2f}" for v in of)
    return typographic(f"{value} ({low} to {high})")


def _signed(value: float) -> str:
    return typographic(f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}")


def _p(value: float) -> str:
    return f"p = {value:.2g}" if value >= 1e-4 else "p < 0.0001"


def _sets(titles: Sequence[str], count: int) -> str:
    if not titles:
        return f"none of the {count}"
    return f"{len(titles)} of {count}: {joined(list(titles), 3)}"
