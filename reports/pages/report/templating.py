"""Pages of a report from templates: self-contained files with escaped text."""

import functools
from pathlib import Path, PurePosixPath

from jinja2 import Environment
from markupsafe import Markup

from bnnbench.datasets.names import title_of
from bnnbench.methods.card import FAMILIES
from bnnbench.reports.judge.participants import LEGEND
from bnnbench.reports.pages.exports.tables import printed
from bnnbench.reports.pages.report.captions import (
    MARKS,
    caption,
    column_captions,
    has_marks,
    headed,
    not_compared,
    tooltip,
)
from bnnbench.reports.pages.site.layout import SECTIONS
from bnnbench.reports.pages.site.layout import TEMPLATES as BOARD
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import duration, identifier, number, typographic
from bnnbench.reports.style.palette import MARKERS, Style
from bnnbench.reports.style.templates import digest_of, environment_in, joined_files
from bnnbench.reports.style.words import spelled

TEMPLATES = Path(__file__).parent / "templates"

SCRIPTS = ("start", "inflate", "sort", "filter", "switch", "copy", "runs", "curves", "lift")
"""The parts of a page's script, in the order in which they run."""

STYLES = ("style", "curves", "controls", "print")
"""The parts of a page's style; later ones take precedence."""

NO_DRILLDOWN = "null"
"""The drilldown of a page without runs."""

MOST_LISTED = 4
"""Longer lists of further pages of a chapter are folded."""

MOST_DAMAGE = 20
"""A page names at most this many damaged runs; a file next to it lists them all."""


def text_of(template: str, drilldown: str = NO_DRILLDOWN, home: str = "", **values: object) -> str:
    """Return a page; all text is escaped, and only the page's own script may run.

    In a site, `home` is the address of its list of suites, and the page has the links of all pages.
    """
    script = joined_files(*map(_script, SCRIPTS))
    return (
        environment()
        .get_template(template)
        .render(
            **values,
            home=home,
            site_links=SECTIONS if home else (),
            root=f"{PurePosixPath(home).parent}/",
            current=Markup(' aria-current="page"'),
            family_order="|".join(FAMILIES),
            most_damage=MOST_DAMAGE,
            most_listed=MOST_LISTED,
            drilldown=drilldown,
            style=Markup(joined_files(*(TEMPLATES / f"{name}.css" for name in STYLES))),
            script=Markup(script),
            script_digest=digest_of(script),
        )
    )


@functools.cache
def environment() -> Environment:
    """Return the environment of the templates, which escapes all text."""
    made = environment_in(TEMPLATES)
    made.filters |= {"typographic": typographic}
    made.globals |= {
        "labels": labels,
        "title_of": title_of,
        "printed": printed,
        "number": number,
        "duration": duration,
        "identifier": identifier,
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
    return made


def _script(name: str) -> Path:
    """Return the file of a part of the script, from these templates or the board's."""
    path = TEMPLATES / f"{name}.js"
    return path if path.is_file() else BOARD / path.name


def swatch(style: Style) -> Markup:
    """Return the legend symbol of a method's line in the figures."""
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
