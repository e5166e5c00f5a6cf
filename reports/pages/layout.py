"""All pages: filled templates, each a self-contained file with its own styles and script."""

import base64
import functools
import hashlib
import json
import math
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bnnbench.datasets.names import title_of
from bnnbench.reports.judge.participants import LEGEND
from bnnbench.reports.pages import captions
from bnnbench.reports.pages.exports.tables import printed
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import duration, identifier, number, slug, typographic
from bnnbench.reports.style.shapes import outline, swatch
from bnnbench.reports.style.words import spelled

TEMPLATES = Path(__file__).parent / "templates"

SECTIONS = (
    ("Board", "index.html"),
    ("Methods", "methods/index.html"),
    ("Data sets", "data/index.html"),
    ("Suites", "suites.html"),
    ("Papers", "papers/index.html"),
    ("Compare", "compare.html"),
)
"""Title and address of the site's sections."""

SAMPLES = ("numerics", "samples")
JUDGING = (*SAMPLES, "decision", "ranking", "advice", "grades", "table")
SCRIPTS = {
    "board.html": (
        *JUDGING,
        "chart",
        "arrows",
        "heat",
        "clipboard",
        "record",
        "runs",
        "league",
        "board",
    ),
    "compare.html": (*SAMPLES, "scatter", "settings", "compare"),
    "examples.html": ("examples",),
    "overview.html": ("overview",),
    "method.html": ("method",),
    "paper.html": ("paper",),
    "runs.html": ("clipboard", "record", "run"),
}
"""Template → the parts of its script between the common ones and the start."""

STYLES = {
    "compare.html": ("site", "pairs"),
    "examples.html": ("site", "pairs"),
    "overview.html": ("overview",),
}
"""Template → its styles; others have the site's."""

LIMIT = 300_000
"""The size in bytes above which a page of the site is divided, if it can be."""


class PageTooLarge(ValueError):
    """A page, named by its address, exceeds its limit."""


def page(
    template: str,
    address: str,
    title: str,
    section: str,
    data: dict[str, Any],
    *,
    most_bytes: float = math.inf,
    **values: Any,
) -> str:
    """Return a page of the site, whose script reads `data`.

    Raises `PageTooLarge` if it has more than `most_bytes`.
    """
    text = filled(
        template,
        ("search", *STYLES.get(template, ("site",))),
        ("state", "search", *SCRIPTS.get(template, ()), "start"),
        embedded(data),
        title=title,
        section=section,
        searchable=True,
        root="../" * address.count("/"),
        **values,
    )
    if len(text.encode()) > most_bytes:
        raise PageTooLarge(address)
    return text


def filled(
    template: str, styles: Iterable[str], scripts: Iterable[str], data: str, /, **values: Any
) -> str:
    """Return a filled template; all text is escaped, and only the page's own script may run.

    `styles` and `scripts` stand between those of all pages; `data` is JSON for the script.
    """
    parts = _joined("scripts/{}.js", "dom", "inflate", *scripts)
    script = f'(() => {{\n"use strict";\n{parts}}})();\n'
    return (
        environment()
        .get_template(template)
        .render(
            **values,
            site_sections=SECTIONS,
            style=Markup(_joined("styles/{}.css", "base", *styles, "print")),
            script=Markup(script),
            digest=_digest(script),
            data=Markup(data),
        )
    )


@functools.cache
def environment() -> Environment:
    """Return the environment of all templates, which escapes all text."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"typographic": typographic}
    made.globals |= {
        "labels": labels,
        "title_of": title_of,
        "printed": printed,
        "number": number,
        "duration": duration,
        "identifier": identifier,
        "outline": outline,
        "swatch": swatch,
        "marks": captions.MARKS,
        "excluded_legend": LEGEND,
        "caption": captions.caption,
        "has_marks": captions.has_marks,
        "column_captions": captions.column_captions,
        "headed": captions.headed,
        "not_compared": captions.not_compared,
        "tooltip": captions.tooltip,
        "spelled": spelled,
    }
    return made


def embedded(data: Any) -> str:
    """Return data as JSON that is safe inside a script element."""
    return _json(data).replace("<", "\\u003c")


def packed(data: Any) -> str:
    """Return data as compressed JSON in base64, a third of the size; the script unpacks it."""
    return packed_bytes(_json(data).encode())


def packed_bytes(content: bytes) -> str:
    """Return compressed bytes in base64."""
    return base64.b64encode(zlib.compress(content, 9)).decode()


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def slugs(names: Sequence[str]) -> dict[str, str]:
    """Return name → a name for files and addresses; equal ones are numbered in order."""
    by_name: dict[str, str] = {}
    for name in names:
        plain = (slug(name) or "unnamed")[:80]
        taken, chosen, number = set(by_name.values()), plain, 1
        while chosen in taken:
            number += 1
            chosen = f"{plain}-{number}"
        by_name[name] = chosen
    return by_name


@functools.cache
def _joined(pattern: str, *names: str) -> str:
    """Return the texts of files, one after another."""
    paths = (TEMPLATES / pattern.format(name) for name in names)
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@functools.cache
def _digest(script: str) -> str:
    """Return the base64 SHA-256 of a script, with which a page's policy allows it."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
