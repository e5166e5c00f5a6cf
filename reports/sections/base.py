"""The parts of a section of a page: headings, notes, tables to choose from, and figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from bnnbench.engine.store.store import Store
from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.judge.table import Table
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.load import Damage
from bnnbench.reports.sections.condition_tables import condition_table
from bnnbench.reports.style.families import PLAIN
from bnnbench.reports.style.numbers import identifier
from bnnbench.reports.style.palette import Style


@dataclass(frozen=True)
class Material:
    """The inputs for the sections of one profile."""

    store: Store
    benchmarks: tuple[Benchmark, ...]
    methods: tuple[str, ...]
    styles: Mapping[str, Style]
    anchor: str
    """A prefix that distinguishes this profile's figures from others on the page."""

    @cached_property
    def main_tables(self) -> tuple[Table, ...]:
        """The table of the main condition of each benchmark."""
        conditions = ((b.conditions or ("clean",))[0] for b in self.benchmarks)
        pairs = zip(self.benchmarks, conditions, strict=True)
        return tuple(condition_table(b, name, self.methods) for b, name in pairs)

    def figure_places(self, kind: str) -> Iterator[tuple[Benchmark, str, str]]:
        """Yield each benchmark, an identifier for its figures of a kind, and its title."""
        for number, benchmark in enumerate(self.benchmarks):
            name = identifier(self.anchor, number, kind)
            yield benchmark, name, where_of(benchmark, benchmark.origin)


@dataclass(frozen=True)
class Gallery:
    """Figures of one kind, side by side."""

    title: str
    explanation: str
    drawings: tuple[Drawing, ...]
    wide: bool = False
    """True if each figure takes the whole width."""

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that share a figure, for a legend; empty if no figure is shared."""
        return tuple(dict.fromkeys(m for drawing in self.drawings for m in drawing.methods))

    @property
    def coloured(self) -> frozenset[str]:
        """The methods coloured in any of the figures."""
        return frozenset(m for drawing in self.drawings for m in drawing.coloured)

    @property
    def rest(self) -> frozenset[str]:
        """The methods that are grey in some figure."""
        return frozenset(m for d in self.drawings for m in d.methods if m not in d.coloured)

    @property
    def plain(self) -> str:
        """The name of the plain network; "" if it is in none of the figures."""
        return next((name for name in PLAIN if name in self.coloured), "")


@dataclass(frozen=True)
class Block:
    """A table under a heading."""

    table: Table
    heading: str = ""
    note: str = ""
    origin: str = ""
    """The origin of its data, if shown next to the heading."""
    counts_runs: bool = True
    """True if it shows the number of runs."""
    folded: bool = False


@dataclass(frozen=True)
class Listing:
    """Rows of text under headings, in a folded block."""

    title: str
    name: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: tuple[int, ...] = ()
    """Columns of text rather than numbers."""


@dataclass(frozen=True)
class Choice:
    """Blocks shown together: one of several choices between which a reader switches."""

    blocks: tuple[Block, ...] = ()
    by: str = ""
    """The kind of choice: "set" or "metric"."""
    name: str = ""
    note: str = ""
    drawing: Drawing | None = None
    after: tuple[str, ...] = ()
    """Sentences below the figure."""
    listing: Listing | None = None


@dataclass(frozen=True)
class Section:
    """A part of a page. Its figures are shown together with those of all other sections."""

    title: str = ""
    note: str = ""
    departures: tuple[str, ...] = ()
    """The suite's deviations from the paper whose numbers are shown."""
    choices: tuple[Choice, ...] = ()
    galleries: tuple[Gallery, ...] = ()
    damage: tuple[Damage, ...] = ()
    """Runs whose predictions cannot be read."""
    last: bool = False
    """True if it follows the tables of the data sets."""
    absent: int = 0
    """The number of completed runs without predictions in the store."""
    of_suites: bool = False
    """True if it shows the subject of certain suites, such as layers or draws."""

    @property
    def tables(self) -> list[Table]:
        """Every table, in the order of the page."""
        return [block.table for choice in self.choices for block in choice.blocks]


def figures(title: str, explanation: str, drawings: Sequence[Drawing]) -> tuple[Gallery, ...]:
    """Return a gallery of figures; empty without figures."""
    return (Gallery(title, explanation, tuple(drawings)),) if drawings else ()


def figures_alone(galleries: Sequence[Gallery]) -> Iterator[Section]:
    """Yield a section without tables, or nothing without figures."""
    if galleries:
        yield Section(galleries=tuple(galleries))


def where_of(benchmark: Benchmark, origin: str) -> str:
    """Return the data set's title, with its origin unless the data are original."""
    name = benchmark.title
    return name if origin == "original" else f"{name} ({origin})"


def origin_to_show(benchmark: Benchmark) -> str:
    """Return the origin of a benchmark's data; "" for original data."""
    return "" if benchmark.origin == "original" else benchmark.origin
