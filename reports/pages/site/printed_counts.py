"""Counts of verdicts on printed numbers, as the columns of a table and in sentences."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bnnbench.reports.papers.coverage import Printed, PrintedTable
from bnnbench.reports.papers.reproduction import CLOSE, FEWEST
from bnnbench.reports.papers.verdicts import COMPARED, FAR, LEVEL, NEAR, Kind
from bnnbench.reports.style.words import all_of, counted, joined

HEADS: Mapping[Kind | None, str] = {
    "agrees": "agree",
    "differs": "differ",
    "differs much": "differ much",
    "departs": "differ, protocol departs",
    "cannot be met": "cannot be met",
    "not comparable": "cannot be compared",
    None: "not run",
}
"""The kind of a verdict → its verb phrase after a count; None for numbers that were not run."""
COLUMNS = ("printed", "agree", "closely", *list(HEADS.values())[1:], "differ by chance")
"""The headings of `counts_of`."""


def counts_of(tables: Sequence[PrintedTable]) -> list[str]:
    """Return the counts of some tables under `COLUMNS`; "" for 0."""
    agree, *others = (count(tables, kind) for kind in HEADS)
    printed = sum(len(table.numbers) for table in tables)
    closely = sum(table.closely for table in tables)
    chance = by_chance(tables)
    counts = [str(number or "") for number in (printed, agree, closely, *others)]
    return [*counts, f"{chance:.1f}" if chance else ""]


def count(tables: Iterable[PrintedTable], kind: Kind | None) -> int:
    """Return the number of verdicts of a kind; None counts numbers that were not run."""
    return sum(table.count(kind) for table in tables)


def by_chance(tables: Iterable[PrintedTable]) -> float:
    """Return the expected number of differences by chance (`PrintedTable.by_chance`)."""
    return sum(table.by_chance for table in tables)


def reasons(tables: Iterable[PrintedTable]) -> Mapping[str, int]:
    """Return each reason for a printed number without a counterpart of ours, with its count."""
    return Counter(n.reason for table in tables for n in table.numbers if n.kind is None)


def coverage_sentence(tables: Sequence[PrintedTable]) -> str:
    """Return text on how many printed numbers agree, and why others are not compared."""
    numbers = [number for table in tables for number in table.numbers]
    of = Counter(number.kind for number in numbers)
    sentences = list(_compared(tables, [n for n in numbers if n.kind in COMPARED]))
    if unmet := of["cannot be met"]:
        verb = "is" if unmet == 1 else "are"
        sentences.append(f"{unmet} {verb} below the sampling error of the paper's protocol.")
    if open_ := of["not comparable"]:
        sentences.append(f"{open_} {'was' if open_ == 1 else 'were'} run and cannot be compared.")
    if missing := of[None]:
        listed = joined([f"{reason} ({number})" for reason, number in reasons(tables).items()])
        verb = "has" if missing == 1 else "have"
        sentences.append(f"{missing} {verb} none of ours beside it: {listed}.")
    return " ".join(sentences)


def _compared(tables: Sequence[PrintedTable], compared: Sequence[Printed]) -> Iterator[str]:
    """Yield the sentences on numbers that can be compared."""
    if not compared:
        return
    of: Counter[Kind | None] = Counter(number.kind for number in compared)
    near = f"with ours within {NEAR:.0f} standard errors"
    verb = "agrees" if of["agrees"] == 1 else "agree"
    numbers = f"{of['agrees']} of the {counted(len(compared), 'printed number')}"
    if of["agrees"] == len(compared):
        numbers = all_of(len(compared), "printed number")
    close = _closeness(tables, of["agrees"])
    yield f"{numbers} that can be compared {verb} {near}{close}."
    yield from _differing(of)
    yield from _followed(compared)
    if computed := sum(number.closed_form is not None for number in compared):
        verb = "is" if computed == 1 else "are"
        yield f"{computed} {verb} in closed form and compared to the last printed place."
    if chance := by_chance(tables):
        share = f"{100 * LEVEL:.1f} % of those with a test"
        yield f"If all were equal in truth, {chance:.1f} would differ by chance, {share}."


def _closeness(tables: Sequence[PrintedTable], agreeing: int) -> str:
    if agreeing < 2:
        return ""
    closely = sum(table.closely for table in tables)
    return (
        f", {closely or 'none'} of them closely (within {100 * CLOSE:.0f} % or the printed "
        f"rounding, from more than {FEWEST} repeats)"
    )


def _differing(of: Mapping[Kind | None, int]) -> Iterator[str]:
    if differing := of["differs"] + of["differs much"]:
        yield (
            f"{differing} {'differs' if differing == 1 else 'differ'} under the paper's protocol, "
            f"as far as it is stated, {of['differs much'] or 'none'} by more than {FAR:.0f}."
        )
    if departing := of["departs"]:
        verb = "differs" if departing == 1 else "differ"
        yield f"{departing} {verb} under another protocol, which is no failed reproduction."


def _followed(compared: Sequence[Printed]) -> Iterator[str]:
    """Yield the share of agreements under the papers' protocols, if others depart from them."""
    followed = [number for number in compared if number.followed]
    if 0 < len(followed) < len(compared):
        agreeing = sum(number.kind == "agrees" for number in followed)
        verb = "agrees" if agreeing == 1 else "agree"
        yield (
            f"Of the {len(followed)} for which our protocol follows the paper's, {agreeing} {verb}."
        )
