"""The grade of a headline that names a first method, and its sentence.

Every headline over data sets, and on one, has its grade from here: of the board, of reports, of
`compare` and `try`, and of the documents.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from bnnbench.reports.style.words import joined, quoted

Grade = Literal["best", "leads", "not shown to be best", "not decided"]

LIKE_THESE = "tables like these"
"""The data sets that a claim over random data sets is about."""
OFTEN = 0.8
"""A method that leads is first in at least this share of redraws of the data sets."""
MOST_FAR_BELOW = 1
"""A best method is clearly worse than the constant on at most so many data sets."""
MOST_NAMES = 2


@dataclass(frozen=True)
class Evidence:
    """The facts that decide the grade of a first method."""

    first: str
    rivals: int
    """The number of other methods."""
    worse: int
    """The number of them that are shown to be worse."""
    equal: int = 0
    """The number of others that are shown to be practically equal to the first."""
    others_first: Mapping[str, str] = field(default_factory=dict)
    """Data set, or one of its splits or seeds → the method that is first without it, if another."""
    share: float | None = None
    """Share of redraws in which it is first: of the data sets or, where these are given, of their
    splits or seeds; None if nothing was redrawn."""
    redrawn: str = "redraws"
    """Noun phrase for the redraws, such as "redraws of splits"."""
    part: str = "data set"
    """Noun for the parts that were left out in turn, such as "split"."""
    first_by_rank: bool = True
    """True if it also has the best mean rank."""
    far_below: int = 0
    """Number of data sets on which it is clearly worse than a constant prediction."""
    tied: bool = False
    """True if another method has exactly the same mean."""
    place: str = LIKE_THESE

    @property
    def stable(self) -> bool:
        """True if it is first whichever part is left out."""
        return not self.others_first


def grade(of: Evidence) -> Grade:
    """Return the first grade whose conditions hold."""
    settled = of.worse + of.equal
    if of.rivals and of.stable and not of.tied:
        sure = of.first_by_rank and of.far_below <= MOST_FAR_BELOW
        if settled == of.rivals and sure:
            return "best"
        often = of.share is None or of.share >= OFTEN
        if often and settled and 2 * settled >= of.rivals:
            return "leads"
    return "not shown to be best" if settled else "not decided"


def sentence(of: Evidence) -> str:
    """Return the sentence of the grade."""
    return f"{claim(of)}."


def claim(of: Evidence) -> str:
    """Return the sentence of the grade without its full stop."""
    first, worse, reached = quoted(of.first), _worse(of), grade(of)
    if reached == "best":
        if of.equal:
            return f"{first} is best {_over(of.place)}: {worse}, the rest is practically equal"
        return f"{first} is best {_over(of.place)}: {_all(of.rivals)}"
    if reached == "leads":
        equal = f", {of.equal} practically equal" if of.equal else ""
        rest = ", the rest is open" if of.worse + of.equal < of.rivals else ""
        return f"{first} leads {_over(of.place)}: {worse}{equal}{rest}{_however(of)}"
    if reached == "not shown to be best":
        equal = f" and {of.equal} practically equal" if of.equal else ""
        return (
            f"{first} has the largest mean {_over(of.place)}, but is not shown to be best: "
            f"{worse}{equal}{_without(of)}"
        )
    return f"{first} has the largest mean, but {of.place} do not tell the methods apart"


def short(of: Evidence, use: str) -> str:
    """Return the headline: what to do by the grade of the first.

    `use` is the first, an equal method that costs less or, below the grade "leads", the cheapest
    near the first of those not shown to be worse.
    """
    reached = grade(of)
    if reached == "best":
        standing = "as good as any" if of.equal else "it is best"
        return f"Use {use}: {standing} {_over(of.place)}."
    if reached == "leads":
        return f"Use {use} first: it leads {_over(of.place)}."
    if reached == "not shown to be best":
        if use == of.first:
            return f"{use} is first, but not shown to be best."
        return f"None is best: use {use}, the cheapest near the first."
    if use == of.first:
        return f"{use} has the best mean; nothing is decided."
    return f"Nothing is decided: use {use}, the cheapest near the first."


def _over(place: str) -> str:
    return f"{'over' if place == LIKE_THESE else 'on'} {place}"


def _all(rivals: int) -> str:
    return "the other method is worse" if rivals == 1 else f"all {rivals} others are worse"


def _worse(of: Evidence) -> str:
    others = "other" if of.rivals == 1 else "others"
    return f"{of.worse or 'none'} of {of.rivals} {others} {'is' if of.worse < 2 else 'are'} worse"


def _however(of: Evidence) -> str:
    if of.share is None:
        return ""
    share = f"{100 * of.share:.0f} % of {of.redrawn}"
    return f"; first whichever {of.part} is left out, and in {share}"


def _without(of: Evidence) -> str:
    names = of.others_first.items()
    if not names:
        return ""
    if len(names) > MOST_NAMES:
        return f"; without one of {len(names)} {of.part}s another is first"
    by_other: dict[str, list[str]] = {}
    for name, other in names:
        by_other.setdefault(other, []).append(name)
    parts = [f"{quoted(m)} is first without {joined(of, last='or')}" for m, of in by_other.items()]
    return f"; {joined(parts)}"
