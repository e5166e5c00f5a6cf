"""The blocks of a suite's pages; each is on the first page, or moves to a further one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from jinja2 import Environment
from markupsafe import Markup

from bnnbench.reports.judge.table import Table
from bnnbench.reports.pages.report.content import Content
from bnnbench.reports.pages.report.part import Part
from bnnbench.reports.sections.base import Gallery, Section
from bnnbench.reports.sections.dataset_tables import DatasetTables
from bnnbench.reports.style import labels

NOTHING = Markup("")
SWITCH = Markup('<div class="switch">\n')
END = Markup("</div>\n")


class Chapter(NamedTuple):
    """Blocks that move to further pages together; the names of these pages begin with `name`."""

    name: str
    title: str


DETAILS = Chapter("details", "Single corruptions and sizes")
FIGURES = Chapter("figures", "Figures")
METRICS = Chapter("metrics", "More metrics and diagnostics")
BACKGROUND = Chapter("background", "Data, settings and provenance")
PUBLISHED = Chapter("published", "Published numbers")
SEARCHES = Chapter("searches", "Searches, literature and work")
TABLES = Chapter("tables", "Further tables")
OVERVIEW = Chapter("overviews", "Further overviews")

CHAPTERS = (DETAILS, FIGURES, METRICS, BACKGROUND, PUBLISHED, SEARCHES, TABLES, OVERVIEW)
"""In the order in which they leave a first page that is too large."""


class Heading(NamedTuple):
    """A heading of a page, and the anchor of the content below it."""

    anchor: str
    title: str


class Group(NamedTuple):
    """Blocks on one subject, such as a data set or a kind of figure."""

    name: str
    label: Markup = NOTHING
    """The heading of the group; "" if its blocks have their own."""
    folds: bool = False
    """True if it is folded on the first page."""
    open: bool = False
    """True if it is folded, but open at first."""


@dataclass(frozen=True, eq=False)
class Piece:
    """A table, a figure, or one of several choices; it is never divided between pages."""

    markup: Markup
    name: str = ""
    tables: tuple[Table, ...] = ()

    @cached_property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.markup.encode())


@dataclass(frozen=True, eq=False)
class Block:
    """Pieces between an opening and a closing; both are repeated if the block is divided."""

    chapter: Chapter
    heading: Heading
    group: Group
    pieces: tuple[Piece, ...]
    before: Markup = NOTHING
    after: Markup = NOTHING
    title: str = ""
    folds: bool = False
    """True if it is folded under its title on the first page."""

    def only(self, pieces: Sequence[Piece]) -> "Block":
        """Return the block with only the given pieces."""
        return replace(self, pieces=tuple(pieces))

    @property
    def tables(self) -> list[Table]:
        """The tables of all pieces."""
        return [table for piece in self.pieces for table in piece.tables]

    @property
    def markup(self) -> Markup:
        """The block's markup on a page."""
        return self.before + NOTHING.join(piece.markup for piece in self.pieces) + self.after

    @cached_property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.markup.encode())


def blocks_of(content: Content, environment: Environment) -> list[Block]:
    """Return the blocks of a report, in the order of its pages."""
    several = len(content.parts) > 1
    all_blocks: list[Block] = []
    for part in content.parts:
        all_blocks += _OfPart(content, part, environment, several).blocks()
    return [*all_blocks, *_published(content, environment), *_background(content, environment)]


class _OfPart:
    """The blocks of one profile."""

    def __init__(
        self, content: Content, part: Part, environment: Environment, several: bool
    ) -> None:
        self.part = part
        self.content = content
        self.say: Any = environment.get_template("pieces.html").make_module({"content": content})
        suffix = f": {labels.profile(part.profile)} profile" * several
        self.results = Heading(part.anchor, f"Results{suffix}")
        self.figures = Heading(f"{part.anchor}-figures", f"Figures{suffix}")

    def blocks(self) -> Iterator[Block]:
        part = self.part
        yield Block(OVERVIEW, self.results, Group(""), (), self.say.facts(part))
        titled = [section for section in part.sections if section.title]
        for section in titled:
            if not section.last:
                yield self._section(OVERVIEW, section)
        for dataset in part.datasets:
            yield from self._dataset(dataset)
        for section in titled:
            if section.last:
                yield self._section(SEARCHES, section)
        if part.galleries and part.without_predictions:
            note = self.say.without_predictions(part.without_predictions)
            yield Block(FIGURES, self.figures, Group(""), (), note)
        yield from map(self._gallery, part.galleries)

    def _section(self, chapter: Chapter, section: Section) -> Block:
        pieces = tuple(
            Piece(
                self.say.section_choice(choice),
                choice.name,
                tuple(block.table for block in choice.blocks),
            )
            for choice in section.choices
        )
        before = self.say.section_head(section) + SWITCH
        return Block(chapter, self.results, Group(section.title), pieces, before, END)

    def _gallery(self, gallery: Gallery) -> Block:
        figures = tuple(
            Piece(self.say.figure(drawing, gallery.wide), drawing.heading)
            for drawing in gallery.drawings
        )
        before = self.say.gallery_head(self.part, gallery)
        return Block(FIGURES, self.figures, Group(gallery.title), figures, before, END + END)

    def _dataset(self, dataset: DatasetTables) -> Iterator[Block]:
        """Yield the blocks of a data set: main tables, sizes, more metrics, diagnostics."""
        benchmark, say = dataset.benchmark, self.say
        alone = len(self.part.datasets) == 1
        first = dataset is self.part.datasets[0] and not self.part.overview_first
        group = Group(benchmark.title, say.dataset_label(benchmark), not alone, first)

        def block(chapter: Chapter, pieces: Sequence[Piece], **values: Any) -> Block:
            return Block(chapter, self.results, group, tuple(pieces), **values)

        def title_of(condition: str) -> str:
            return labels.sentence(benchmark.condition(condition))

        main = [
            self._choice(
                *(table, title_of(condition), {"condition": title_of(condition)}),
                origin=table.origin if table.origin != benchmark.origin else "",
                level=4,
            )
            for condition, table in dataset.named_tables
        ]
        before = say.twins_without_counterpart(benchmark) + SWITCH
        yield block(TABLES, main, before=before, after=END)
        for family, tables in dataset.sized:
            by_metric = [
                self._choice(
                    *(table, _metric(table), {"metric": _metric(table)}),
                    name=f"{family.title}, {_metric(table)}",
                )
                for table in tables
            ]
            before = say.family_head(family) + SWITCH
            yield block(TABLES, by_metric, title=family.title, before=before, after=END)
        if dataset.parts:
            title = f"Each of {len(dataset.parts)} corruptions"
            pieces = list(self._corruptions(dataset))
            yield block(DETAILS, pieces, title=title, folds=True, before=SWITCH, after=END)
        if dataset.tables_by_size:
            pieces = [
                self._choice(table, title_of(condition), {"condition": name}, level=4)
                for condition, table, name in _by_size(dataset)
            ]
            title = "All metrics at every size"
            yield block(DETAILS, pieces, title=title, folds=True, before=SWITCH, after=END)
        for table in dataset.minor:
            title = f"More metrics: {table.title}"
            piece = self._table(table, title, "metrics")
            yield block(METRICS, [piece], title=title, folds=alone)
        if dataset.diagnostics.columns:
            table = dataset.diagnostics
            piece = self._table(table, f"Diagnostics: {table.title}", "diagnostics")
            yield block(METRICS, [piece], title="Diagnostics of the fits", folds=alone)

    def _corruptions(self, dataset: DatasetTables) -> Iterator[Piece]:
        axis = dataset.parts[0][0].axis
        for table in dataset.part_tables:
            axes = {"condition": f"Mean over {axis}", "metric": _metric(table)}
            yield self._choice(table, f"{_metric(table)}, mean over {axis}", axes)
        for family, tables in dataset.parts:
            for table in tables:
                axes = {"condition": family.title, "metric": _metric(table)}
                title = f"{family.title}: {_metric(table)} by {family.axis}"
                yield self._choice(table, title, axes)

    def _choice(
        self, table: Table, title: str, axes: dict[str, str], name: str = "", **values: Any
    ) -> Piece:
        markup = self.say.table_choice(table, title, axes, **values)
        return Piece(markup, name or next(iter(axes.values())), (table,))

    def _table(self, table: Table, title: str, name: str) -> Piece:
        return Piece(self.say.further_table(table, title), name, (table,))


def _metric(table: Table) -> str:
    return labels.metric(table.columns[0].name)


def _by_size(dataset: DatasetTables) -> Iterator[tuple[str, Table, str]]:
    """Yield condition, table, and the name by which a reader chooses it."""
    for k, (condition, table) in enumerate(dataset.tables_by_size):
        name = labels.sentence(dataset.benchmark.condition(condition))
        is_minor = k > 0 and labels.is_minor(table.columns[0].name, [])
        yield condition, table, f"{name}{', more metrics' * is_minor}"


def _published(content: Content, environment: Environment) -> Iterator[Block]:
    if content.reproductions:
        say: Any = environment.get_template("published.html").make_module({"content": content})
        heading = Heading("published", "Published numbers")
        tables = (
            Piece(
                say.reproduction_of(reproduction),
                f"{labels.paper(reproduction.paper)}, table {reproduction.table}",
            )
            for reproduction in content.reproductions
        )
        pieces = (Piece(say.judged(), "verdicts"), *tables)
        yield Block(PUBLISHED, heading, Group(heading.title), pieces)


def _background(content: Content, environment: Environment) -> Iterator[Block]:
    say: Any = environment.get_template("background.html").make_module({"content": content})
    made = {
        Heading("data", "Data health"): say.data_health,
        Heading("settings", "Settings"): say.settings,
        Heading("failures", "Failures"): say.failures if content.failures else None,
        Heading("provenance", "Provenance"): say.provenance,
    }
    for heading, markup in made.items():
        if markup:
            yield Block(BACKGROUND, heading, Group(heading.title), (Piece(markup()),))
