"""The content of a suite as self-contained HTML files."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from markupsafe import Markup

from bnnbench.methods.card import FAMILIES
from bnnbench.reports.pages.drilldown.dialogs import Drilldown
from bnnbench.reports.pages.drilldown.run_pages import NO_PAGES, RunPages
from bnnbench.reports.pages.layout import LIMIT, environment, filled, slugs
from bnnbench.reports.pages.report.blocks import Block, Chapter, Group, Heading, blocks_of
from bnnbench.reports.pages.report.content import Content
from bnnbench.reports.pages.report.portions import Portion, shared_out
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import span

FIRST = "report.html"
"""The page of a suite that others link to."""

DRILLDOWN = "the drilldown comes here"
"""A placeholder for the drilldown in a page, until the size of the page itself is known."""

MOST_BYTES = 2_900_000
"""Maximum size of a page outside a site: one file that can be sent to others."""

STYLES = ("report", "controls", "curves", "forest")
SCRIPTS = (
    "sort",
    "filter",
    "switch",
    "clipboard",
    "copy",
    "record",
    "arrows",
    "cells",
    "curves",
    "lift",
)
"""The parts of a report's style and script; later styles take precedence."""

NO_DRILLDOWN = ""
"""The drilldown of a page without runs."""

MOST_LISTED = 4
"""Longer lists of further pages of a chapter are folded."""

MOST_DAMAGE = 20
"""A page names at most this many damaged runs; a file next to it lists them all."""

RESERVE = 0.2
"""The share of a page that is reserved for the drilldown."""


class Page(NamedTuple):
    """A page of a report: its address ("" if absent) and its title."""

    address: str
    title: str
    label: str = ""
    """The text that distinguishes it from other pages of its chapter."""


Further = Mapping[Chapter, Sequence[Page]]
"""Chapter → its pages."""


def pages(content: Content, home: str = "", runs: RunPages = NO_PAGES) -> dict[str, str]:
    """Return name → page of a suite: report.html, and further pages if it would be too large.

    In that case, and always in a site, each of several profiles has its own page, to which
    report.html links. A site has its front page at `home` and pages of `runs`. Chapters that do not
    fit on a page move to further ones. Pages of a site obey its size limit, unless a single table
    or figure is larger.
    """
    most_bytes = LIMIT if home else MOST_BYTES
    report = _Report(content, content.title, Page(home, "All suites"), home, runs, most_bytes)
    if len(content.parts) == 1 or (not home and report.fits_one_page):
        return report.pages(FIRST, "")
    files: dict[str, str] = {}
    of_profiles = slugs([part.profile for part in content.parts])
    addresses = {profile: f"profile-{slug}.html" for profile, slug in of_profiles.items()}
    above = Page(FIRST, content.title)
    for part in content.parts:
        title = f"{content.title}: {labels.profile(part.profile)} profile"
        name, stem = addresses[part.profile], f"profile-{of_profiles[part.profile]}-"
        of_part = _Report(content.only(part), title, above, home, runs, most_bytes)
        files |= of_part.pages(name, stem)
    suite = text_of("profiles.html", content=content, home=home, addresses=addresses)
    return {FIRST: suite} | files


@dataclass(frozen=True)
class _Report:
    """The pages of some content, below the page `above`."""

    content: Content
    title: str
    above: Page
    home: str
    """The address of a site's list of suites; "" outside a site."""
    runs: RunPages
    most_bytes: int

    @cached_property
    def _blocks(self) -> list[Block]:
        return blocks_of(self.content, environment())

    @cached_property
    def _drilldown(self) -> Drilldown:
        return Drilldown(self.content, self.runs)

    @cached_property
    def _room(self) -> int:
        """The number of bytes available for blocks on a page."""
        empty = len(self._first((), {}, {}).encode())
        return int(self.most_bytes * (1 - RESERVE)) - empty

    @property
    def fits_one_page(self) -> bool:
        """True if nothing needs to move to a further page."""
        return sum(block.size for block in self._blocks) <= self._room

    def pages(self, name: str, stem: str) -> dict[str, str]:
        """Return name → page; names of further pages begin with `stem`."""
        first, chapters = shared_out(self._blocks, self._room)
        further = {
            chapter: _named(chapter, portions, stem) for chapter, portions in chapters.items()
        }
        more_of = _more_of(chapters, further)
        files = {name: self._filled(self._first(first, further, more_of), first)}
        for chapter, portions in chapters.items():
            for page, portion in zip(further[chapter], portions, strict=True):
                text = self._further(page, portion.blocks, further, Page(name, self.title))
                files[page.address] = self._filled(text, portion.blocks)
        return files

    def _first(
        self,
        blocks: Sequence[Block],
        further: Further,
        more_of: Mapping[str, Mapping[Chapter, Page]],
    ) -> str:
        return self._page(
            "report.html", blocks, further, above=self.above, here="", more_of=more_of
        )

    def _further(self, page: Page, blocks: Sequence[Block], further: Further, above: Page) -> str:
        return self._page(
            *("chapter.html", blocks, further),
            page=page,
            above=above,
            here=page.address,
            more_of={},
        )

    def _page(
        self, template: str, blocks: Sequence[Block], further: Further, **values: object
    ) -> str:
        return text_of(
            template,
            content=self.content,
            heading=self.title,
            home=self.home,
            divisions=_arranged(blocks),
            drilldown=DRILLDOWN,
            further=further,
            **values,
        )

    def _filled(self, page: str, blocks: Sequence[Block]) -> str:
        """Return the page with as much of its drilldown as fits."""
        tables = [table for block in blocks for table in block.tables]
        room = max(self.most_bytes - len(page.encode()), 0)
        data = self._drilldown.compressed(tables, room) if tables else NO_DRILLDOWN
        return page.replace(DRILLDOWN, data)


def _named(chapter: Chapter, portions: Sequence[Portion], stem: str) -> list[Page]:
    """Return the pages of a chapter; the names of all but the first have a number."""
    return [
        Page(
            f"{stem}{chapter.name}{f'-{number}' * (number > 1)}.html",
            f"{chapter.title}{f': {portion.label}' * bool(portion.label)}",
            portion.label,
        )
        for number, portion in enumerate(portions, 1)
    ]


def _more_of(
    chapters: Mapping[Chapter, Sequence[Portion]], further: Further
) -> dict[str, dict[Chapter, Page]]:
    """Return name of a group → chapter → the first further page with blocks of the group."""
    pages_of: dict[str, dict[Chapter, Page]] = defaultdict(dict)
    for chapter, portions in chapters.items():
        for page, portion in zip(further[chapter], portions, strict=True):
            for block in portion.blocks:
                pages_of[block.group.name].setdefault(chapter, page)
    return pages_of


Division = tuple[Heading, list[tuple[Group, list[Block]]]]


def _arranged(blocks: Iterable[Block]) -> list[Division]:
    """Return heading → groups of blocks, in their order."""
    return [
        (heading, [(group, list(of)) for group, of in groupby(below, lambda b: b.group)])
        for heading, below in groupby(blocks, lambda b: b.heading)
    ]


def text_of(template: str, drilldown: str = NO_DRILLDOWN, home: str = "", **values: object) -> str:
    """Return a page of a report.

    In a site, `home` is the address of its list of suites, and the page has the links of all pages.
    """
    return filled(
        template,
        STYLES,
        SCRIPTS,
        f'{{"drilldown":"{drilldown}"}}',
        home=home,
        section="Suites" if home else "",
        searchable=False,
        root=f"{PurePosixPath(home).parent}/",
        current=Markup(' aria-current="page"'),
        family_order="|".join(FAMILIES),
        most_damage=MOST_DAMAGE,
        most_listed=MOST_LISTED,
        **values,
    )


def compared(comparison: object, **functions: Any) -> str:
    """Return the page of changes; `functions` format its texts."""
    return text_of("changes.html", changes=comparison, content=None, **functions)


def timings(**values: Any) -> str:
    """Return the page of timings."""
    return text_of("timing.html", content=None, span=span, **values)
