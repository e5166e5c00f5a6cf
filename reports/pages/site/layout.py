"""Pages of the site: filled templates, each a self-contained file."""

import base64
import functools
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from bnnbench.reports.pages.site.shapes import OUTLINES
from bnnbench.reports.style.numbers import slug
from bnnbench.reports.style.templates import digest_of, environment_in, joined_files

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

COMMON = ("dom", "state", "search", "inflate")
JUDGING = ("numerics", "decision", "ranking", "advice", "table")
SCRIPTS = {
    "board.html": (*JUDGING, "chart", "heat", "command_line", "runs", "board"),
    "compare.html": (*JUDGING, "scatter", "settings", "compare"),
    "examples.html": ("examples",),
    "method.html": ("method",),
    "paper.html": ("paper",),
    "runs.html": ("command_line", "run"),
}
"""Template → the parts of its script between the common ones and the start."""

LIMIT = 300_000
"""The largest size of a page."""


class PageTooLarge(ValueError):
    """A page exceeds its limit; the message names its largest part."""


def page(
    template: str, address: str, title: str, section: str, data: dict[str, Any], **values: Any
) -> str:
    """Return a page; all text is escaped, and only its own script may run.

    The script reads `data`. Raises `PageTooLarge`.
    """
    parts = (*COMMON, *SCRIPTS.get(template, ()), "start")
    files = joined_files(*(TEMPLATES / f"{name}.js" for name in parts))
    script = "(() => {\n" + files + "})();\n"
    text = (
        _environment()
        .get_template(template)
        .render(
            **values,
            title=title,
            section=section,
            sections=SECTIONS,
            root="../" * address.count("/"),
            style=Markup(joined_files(TEMPLATES / "board.css")),
            script=Markup(script),
            digest=digest_of(script),
            data=Markup(embedded(data)),
        )
    )
    if len(text.encode()) > LIMIT:
        sizes = {name: len(embedded(part)) for name, part in data.items()}
        largest = max(sizes, key=lambda name: sizes[name], default="its text")
        raise PageTooLarge(
            f"{address} has {len(text.encode()):,} bytes, more than {LIMIT:,}; its largest part is "
            f"{largest!r}"
        )
    return text


def embedded(data: Any) -> str:
    """Return data as JSON that is safe inside a script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def packed(data: Any) -> str:
    """Return data as compressed JSON in base64, a third of the size; the script unpacks it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


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
def _environment() -> Environment:
    environment = environment_in(TEMPLATES)
    environment.globals |= {"outline": lambda family: OUTLINES.get(family, OUTLINES["other"])}
    return environment
