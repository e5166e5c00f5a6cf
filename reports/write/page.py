"""The content of a suite as self-contained HTML files."""

import base64
import hashlib
import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bnnbench.datasets.names import title_of
from bnnbench.reports.board.pages import slugs
from bnnbench.reports.board.run_pages import NO_PAGES, RunPages
from bnnbench.reports.judge.participants import LEGEND
from bnnbench.reports.sections.base import Gallery
from bnnbench.reports.style import labels
from bnnbench.reports.style.families import FAMILIES
from bnnbench.reports.style.numbers import duration, identifier, number, span, typographic
from bnnbench.reports.style.palette import MARKERS, Style
from bnnbench.reports.style.words import spelled
from bnnbench.reports.write.captions import (
    MARKS,
    caption,
    column_captions,
    has_marks,
    headed,
    not_compared,
    tooltip,
)
from bnnbench.reports.write.content import Content
from bnnbench.reports.write.drilldown import MOST_DRILLDOWN, drilldown, embedded
from bnnbench.reports.write.exports.tables import printed
from bnnbench.reports.write.part import Part

TEMPLATES = Path(__file__).parent / "templates"

FIRST = "report.html"
"""The page of a suite that others link to."""

SCRIPTS = ("start", "sort", "filter", "switch", "copy", "runs", "curves", "lift")
"""The parts of a page's script, in the order in which they run."""

STYLES = ("style", "curves", "controls", "print")
"""The parts of a page's style; later ones take precedence."""

DRILLDOWN = '{"drilldown": "here"}'
"""A placeholder for the drilldown in a page, until the size of the page itself is known."""

MOST_BYTES = 2_900_000
"""The largest size of a page; the drilldown uses the remaining bytes."""

LEAST_DRILLDOWN = 300_000
"""Bytes reserved for the drilldown; other parts of a page move to files of their own for it."""

MOST_FIGURES = 2_400_000
"""The most bytes of figures on one page."""

MOST_DAMAGE = 20
"""A page names at most this many damaged runs; a file beside it lists them all."""

Links = list[tuple[str, str]]
"""Address and title of other pages of a suite."""

NOT_APART: Mapping[str, Links] = {"details": [], "figures": []}
"""Nothing has moved to a page of its own."""


class Above(NamedTuple):
    """The page above another: its address, "" where there is none, and its title."""

    address: str
    title: str


def pages(content: Content, home: str = "", runs: RunPages = NO_PAGES) -> dict[str, str]:
    """Return name → page of a suite: report.html, and further pages if it would be too large.

    Then each of several profiles has a page of its own, to which report.html links. Tables of
    single corruptions and sizes move to another file first, then the figures. `home` is the
    address of the front page, if there is one; `runs` has those of the pages of runs.
    """
    site = bool(home)
    front = Above(home, "All suites")
    if len(content.parts) == 1:
        return _with_overflow(content, content.title, FIRST, "", front, site, runs)
    whole = _first_page(content, content.title, front, site)
    if not _is_large(whole):
        return {FIRST: _filled(whole, content, runs)}
    files: dict[str, str] = {}
    of_profiles = slugs([part.profile for part in content.parts])
    addresses = {profile: f"profile-{slug}.html" for profile, slug in of_profiles.items()}
    above = Above(FIRST, content.title)
    for part in content.parts:
        title = f"{content.title}: {labels.profile(part.profile)} profile"
        name, stem = addresses[part.profile], f"profile-{of_profiles[part.profile]}-"
        files |= _with_overflow(content.only(part), title, name, stem, above, site, runs)
    suite = _page("profiles.html", content=content, home=home, addresses=addresses)
    return {FIRST: suite.replace(DRILLDOWN, "null")} | files


def _first_page(
    content: Content, title: str, above: Above, site: bool, apart: Mapping[str, Links] = NOT_APART
) -> str:
    values = {"content": content, "heading": title, "above": above, "apart": apart}
    return _page("page.html", in_site=site, **values)


def _with_overflow(
    content: Content, title: str, name: str, stem: str, above: Above, site: bool, runs: RunPages
) -> dict[str, str]:
    """Return name → page of some content, and of what has no room on its first page.

    Names of further pages begin with `stem`; `above` is the page to which the first one leads back.
    """
    apart: dict[str, Links] = dict(NOT_APART)
    chunks = _chunks(content)
    page = _first_page(content, title, above, site)
    if _is_large(page) and content.has_details:
        apart["details"] = [(f"{stem}details.html", "Details")]
        page = _first_page(content, title, above, site, apart)
    if _is_large(page) and chunks:
        numbers = range(2, len(chunks) + 1)
        names = [f"{stem}figures.html", *(f"{stem}figures-{i}.html" for i in numbers)]
        titles = ["Figures", *(f"Figures, page {i}" for i in numbers)]
        apart["figures"] = list(zip(names, titles, strict=True))
        page = _first_page(content, title, above, site, apart)
    files = {name: page}
    values: dict[str, object] = {"content": content, "heading": title, "page": name}
    for other, _ in apart["details"]:
        files[other] = _page("details.html", **values)
    for (other, shown), chunk in zip(apart["figures"], chunks, strict=False):
        files[other] = _page("figures.html", title=shown, chunk=chunk, **values)
    return {name: _filled(text, content, runs) for name, text in files.items()}


def render(content: Content) -> str:
    """Return the first page of a suite."""
    return pages(content)[FIRST]


def compared(comparison: object, **functions: object) -> str:
    """Return the page of changes; `functions` give its texts."""
    return _page("compare.html", changes=comparison, content=None, **functions).replace(
        DRILLDOWN, "null"
    )


def timings(**values: object) -> str:
    """Return the page of timings."""
    return _page("timing.html", content=None, span=span, **values).replace(DRILLDOWN, "null")


def _is_large(page: str) -> bool:
    return len(page.encode()) > MOST_BYTES - LEAST_DRILLDOWN


def _filled(page: str, content: Content, runs: RunPages) -> str:
    """Return the page with its drilldown, as far as there is room."""
    if 'class="results' not in page:
        return page.replace(DRILLDOWN, "null")
    room = min(MOST_DRILLDOWN, MOST_BYTES - len(page.encode()))
    return page.replace(DRILLDOWN, embedded(drilldown(content, max(room, 0), runs)))


def _chunks(content: Content) -> list[list[tuple[Part, list[Gallery]]]]:
    """Return the figures in portions for one page each: parts with their galleries."""
    chunks: list[list[tuple[Part, list[Gallery]]]] = []
    left = 0
    for part in content.parts:
        for gallery in part.galleries:
            size = sum(len(drawing.svg) for drawing in gallery.drawings)
            if size > left and (not chunks or left < MOST_FIGURES):
                chunks.append([])
                left = MOST_FIGURES
            left -= size
            if not chunks[-1] or chunks[-1][-1][0] is not part:
                chunks[-1].append((part, []))
            chunks[-1][-1][1].append(gallery)
    return chunks


def _page(template: str, **values: object) -> str:
    """Return a page; all text is escaped, and only the page's own script may run."""
    script = _texts(f"{name}.js" for name in SCRIPTS)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    counter = itertools.count(1)
    environment.filters |= {"typographic": typographic}
    environment.globals |= {
        "labels": labels,
        "title_of": title_of,
        "printed": printed,
        "number": number,
        "duration": duration,
        "identifier": identifier,
        "unique": lambda: f"t{next(counter)}",
        "swatch": swatch,
        "marks": MARKS,
        "excluded_legend": LEGEND,
        "caption": caption,
        "has_marks": has_marks,
        "column_captions": column_captions,
        "headed": headed,
        "not_compared": not_compared,
        "tooltip": tooltip,
        "spelled": spelled,
    }
    return environment.get_template(template).render(
        **values,
        family_order="|".join(FAMILIES),
        most_damage=MOST_DAMAGE,
        drilldown_here=Markup(DRILLDOWN),
        style=Markup(_texts(f"{name}.css" for name in STYLES)),
        script=Markup(script),
        script_digest=digest,
    )


def _texts(names: Iterable[str]) -> str:
    return "\n".join((TEMPLATES / name).read_text(encoding="utf-8") for name in names)


def swatch(style: Style) -> Markup:
    """Return the key to a method's line in the figures."""
    dash = " ".join(f"{1.4 * length:g}" for length in style.dash)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    shapes = {
        "o": '<circle cx="14" cy="6" r="3.2"/>',
        "s": '<rect x="11" y="3" width="6" height="6"/>',
        "^": '<path d="M14 2.2 17.6 9H10.4z"/>',
        "D": '<path d="M14 1.8 18.2 6 14 10.2 9.8 6z"/>',
        "v": '<path d="M14 9.8 17.6 3H10.4z"/>',
        "P": '<path d="M12.8 2.2h2.4v2.6h2.6v2.4h-2.6v2.6h-2.4V7.2h-2.6V4.8h2.6z"/>',
        "X": '<path d="M12 2.3 14 4.3 16 2.3 17.7 4 15.7 6l2 2L16 9.7l-2-2-2 2L10.3 8l2-2-2-2z"/>',
        "p": '<path d="M14 2.2 17.8 5 16.3 9.5h-4.6L10.2 5z"/>',
    }
    assert set(shapes) == set(MARKERS)
    return Markup(
        f'<svg class="swatch" viewBox="0 0 28 12" aria-hidden="true" color="{style.colour}" '
        f'fill="currentColor"><path d="M0 6H28" stroke="currentColor" stroke-width="2"{dashed}/>'
        f"{shapes[style.marker]}</svg>"
    )
