"""The content of a suite as one HTML file that needs nothing beside it."""

import base64
import hashlib
import itertools
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from reports import labels
from reports.content import Content
from reports.coverage_table import coverage_table
from reports.export import printed
from reports.layers import layer_table
from reports.numbers import duration, identifier, number, typographic
from reports.palette import MARKERS, Style

TEMPLATES = Path(__file__).parent / "templates"


def render(content: Content) -> str:
    """Return the page. Every name in it is escaped, and only its own script may run."""
    script = (TEMPLATES / "sort.js").read_text(encoding="utf-8")
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
        "printed": printed,
        "coverage_table": coverage_table,
        "layer_table": layer_table,
        "number": number,
        "duration": duration,
        "identifier": identifier,
        "unique": lambda: f"t{next(counter)}",
        "swatch": swatch,
    }
    return environment.get_template("page.html").render(
        content=content,
        style=Markup((TEMPLATES / "style.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_digest=digest,
    )


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
        f'<svg class="swatch" viewBox="0 0 28 12" aria-hidden="true" fill="{style.colour}">'
        f'<path d="M0 6H28" stroke="{style.colour}" stroke-width="2"{dashed}/>'
        f"{shapes[style.marker]}</svg>"
    )
