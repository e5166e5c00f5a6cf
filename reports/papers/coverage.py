"""Every printed number of the source papers, with the verdict on it or why there is none."""

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bnnbench.reports.papers.closed_forms import ClosedForm, closed_form
from bnnbench.reports.papers.published import Published, every, table_number
from bnnbench.reports.papers.reproduction import diverged, reproductions
from bnnbench.reports.papers.verdicts import Judgement, Kind, judge
from bnnbench.reports.read.benchmarks import Benchmark

PARTS_OF_TEXT = {
    "sec 3": "Section 3",
    "sec 4.3": "Section 4.3",
    "sec 5.1": "Section 5.1",
    "app c": "Appendix C",
    "app d.1": "Appendix D.1",
    "app f": "Appendix F",
}
"""Our name for a section of a paper → its title."""
REASONS = (
    "needs a GPU",
    "needs more than ten hours of a core",
    "needs data that is not here",
    "a time on another machine",
    "stands in running text, without a protocol",
    "our runs diverged",
    "not run yet",
)
"""Reasons why a printed number has no counterpart of ours."""


@dataclass(frozen=True)
class Printed:
    """A printed number with the verdict on ours, or the reason why there is none."""

    published: Published
    suite: str
    """The suite of our runs; "" if there are none."""
    judgement: Judgement | None
    reason: str
    """One of `REASONS`; "" if there is a verdict."""
    closed_form: ClosedForm | None = None
    """Our number, if it needs no run."""

    @property
    def kind(self) -> Kind | None:
        """The kind of the verdict; None for a number without a counterpart of ours."""
        if self.closed_form:
            return "agrees" if self.closed_form.agrees(self.published) else "differs"
        return self.judgement.kind if self.judgement else None

    @property
    def ours(self) -> float:
        """Our mean, or number. Raises LookupError if there is none."""
        if self.closed_form:
            return self.closed_form.value
        if self.judgement is None:
            raise LookupError(f"no number of ours for {self.published}")
        return self.judgement.comparison.mean


@dataclass(frozen=True)
class PrintedTable:
    """A table of a paper, or a section with numbers in its text."""

    paper: str
    number: str
    """"2", or "sec 5.1"."""
    numbers: Sequence[Printed]

    @property
    def title(self) -> str:
        """The table's name, or the title of the section with the numbers."""
        if self.number.isdigit():
            return f"Table {self.number}"
        return PARTS_OF_TEXT.get(self.number, self.number)

    def count(self, kind: Kind | None) -> int:
        """Return the number of verdicts of a kind; None counts numbers without a verdict."""
        return sum(printed.kind == kind for printed in self.numbers)

    @property
    def reasons(self) -> Mapping[str, int]:
        """Each reason why numbers were not run, or are not comparable, with its count."""
        counts: dict[str, int] = {}
        for printed in self.numbers:
            if printed.kind is None:
                text = printed.reason
            elif printed.judgement and printed.kind == "not comparable":
                text = printed.judgement.reasons[0]
            else:
                continue
            counts[text] = counts.get(text, 0) + 1
        return dict(sorted(counts.items(), key=lambda item: -item[1]))


def coverage(suites: Mapping[str, Sequence[Benchmark]]) -> list[PrintedTable]:
    """Return all printed tables, in the order of papers and tables, from suite → its benchmarks.

    Several profiles of one paper may give several counterparts of a number. The one that counts is
    comparable rather than not, then has the most repeats, then contradicts us the most.
    """
    by_published: dict[Published, list[Printed]] = {}
    ended: set[Published] = set()
    for suite, benchmarks in suites.items():
        ended |= diverged(benchmarks)
        for reproduction in reproductions(benchmarks):
            for comparison in reproduction.comparisons:
                printed = Printed(comparison.published, suite, judge(comparison), "")
                by_published.setdefault(comparison.published, []).append(printed)
    tables: dict[tuple[str, str], list[Printed]] = {}
    for published in every():
        if judged := by_published.get(published):
            printed = max(judged, key=_weight)
        elif computed := closed_form(published):
            printed = Printed(published, "", None, "", computed)
        else:
            why = "our runs diverged" if published in ended else reason(published)
            printed = Printed(published, "", None, why)
        place = published.paper, table_number(published.table)
        tables.setdefault(place, []).append(printed)
    ordered = sorted(tables, key=lambda place: (place[0], not place[1].isdigit(), _natural(place)))
    return [PrintedTable(*place, tables[place]) for place in ordered]


def reason(published: Published) -> str:
    """Return why a printed number was not run. Raises LookupError for one without a reason."""
    for entry in entries():
        if fits(entry, published):
            return str(entry["reason"])
    raise LookupError(
        f"no entry of not_run.toml fits {published.method} in table {published.table} of paper "
        f"{published.paper}"
    )


@functools.cache
def entries() -> Sequence[Mapping[str, object]]:
    """Return the declared reasons, in their order."""
    text = (Path(__file__).parent / "not_run.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["numbers"]


def fits(entry: Mapping[str, object], published: Published) -> bool:
    """Return whether a declared reason fits a printed number."""
    tables = entry.get("tables")
    values = {
        "methods": published.method,
        "metrics": published.metric,
        "datasets": published.dataset,
    }
    return (
        not isinstance(tables, Mapping)
        or table_number(published.table) in tables.get(published.paper, ())
    ) and all(value in _listed(entry, name) for name, value in values.items() if name in entry)


def _listed(entry: Mapping[str, object], name: str) -> Sequence[object]:
    values = entry[name]
    assert isinstance(values, list)
    return values


def _weight(printed: Printed) -> tuple[bool, int, float]:
    judgement = printed.judgement
    assert judgement
    comparable = judgement.kind != "not comparable"
    return comparable, judgement.comparison.repeats, abs(judgement.z or 0.0)


def _natural(place: tuple[str, str]) -> tuple[int, str]:
    return len(place[1]), place[1]
