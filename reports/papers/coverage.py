"""Every printed number of the source papers, with the verdict on it or why there is none."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bnnbench.reports.papers.closed_forms import ClosedForm, closed_form
from bnnbench.reports.papers.entries import entries, fits
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
    def closely(self) -> bool:
        """True if the numbers agree closely; in closed form, if they agree."""
        return self.judgement.closely if self.judgement else self.kind == "agrees"

    @property
    def followed(self) -> bool:
        """True if our protocol has no declared departure from the paper's."""
        return not (self.judgement and self.judgement.departures)

    @property
    def excuses(self) -> tuple[str, ...]:
        """The reasons why the number is neither confirmed nor contradicted, or not run."""
        return self.judgement.excuses if self.judgement else (self.reason,) if self.reason else ()

    @property
    def level(self) -> float:
        """The probability of a difference by chance; 0 in closed form and without a verdict."""
        return self.judgement.level if self.judgement else 0.0

    @property
    def sign(self) -> str:
        """▲ or ▼ if the numbers differ and ours is higher or lower, doubled if by much."""
        if self.kind in (None, "agrees", "not comparable"):
            return ""
        much = self.judgement is not None and self.judgement.much
        return ("▲" if self.ours > self.published.value else "▼") * (1 + much)

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
        return table_title(self.number)

    def count(self, kind: Kind | None) -> int:
        """Return the number of verdicts of a kind; None counts numbers without a verdict."""
        return sum(printed.kind == kind for printed in self.numbers)

    @property
    def closely(self) -> int:
        """The number of close agreements."""
        return sum(printed.closely for printed in self.numbers)

    @property
    def by_chance(self) -> float:
        r"""The expected number of differences if all printed numbers equalled ours in truth.

        $$ \mathbb E\,\#\{i : |Z_i| > 2\} = \sum_i P(|Z_i| > 2) = 2\,\Phi(-2)\, n = 0.0455\, n $$

        over the n numbers with a test, assuming that the deviate Z of each is standard normal. The
        sum needs no independence, but numbers of the same networks differ together. If a printed
        spread has several readings, the level is at most that.
        """
        return sum(printed.level for printed in self.numbers)

    @property
    def reasons(self) -> Mapping[str, int]:
        """Each reason for a missing or excused verdict, with its count; one may have several."""
        counts = Counter(text for printed in self.numbers for text in printed.excuses)
        return dict(counts.most_common())


def table_title(number: str) -> str:
    """Return the title of a table, or of the section whose text has numbers."""
    number = table_number(number)
    return f"Table {number}" if number.isdigit() else PARTS_OF_TEXT.get(number, number)


def coverage(suites: Mapping[str, Sequence[Benchmark]]) -> list[PrintedTable]:
    """Return all printed tables, in the order of papers and tables, from suite → its benchmarks.

    Of several counterparts of a number, one decides (`Judgement.precedence`).
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
            printed = min(judged, key=_precedence)
        elif computed := closed_form(published):
            printed = Printed(published, "", None, "", computed)
        else:
            why = "our runs diverged" if published in ended else reason(published)
            printed = Printed(published, "", None, why)
        where = published.paper, table_number(published.table)
        tables.setdefault(where, []).append(printed)
    ordered = sorted(tables, key=lambda where: (where[0], not where[1].isdigit(), _natural(where)))
    return [PrintedTable(*where, tables[where]) for where in ordered]


def reason(published: Published) -> str:
    """Return why a printed number was not run. Raises LookupError for one without a reason."""
    for entry in entries("not_run.toml", "numbers"):
        if fits(entry, published):
            return str(entry["reason"])
    raise LookupError(
        f"no entry of not_run.toml fits {published.method} in table {published.table} of paper "
        f"{published.paper}"
    )


def _precedence(printed: Printed) -> tuple[bool, int, int, float]:
    assert printed.judgement
    return printed.judgement.precedence


def _natural(where: tuple[str, str]) -> tuple[int, str]:
    return len(where[1]), where[1]
