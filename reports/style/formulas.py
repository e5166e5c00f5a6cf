"""Docstring text as markup: code, and TeX formulas as MathML, which needs no script."""

import re

from latex2mathml.converter import convert
from markupsafe import Markup, escape

CODE_OR_FORMULA = re.compile(
    r"^```.*?^```|`(?P<code>[^`]*)`|\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$\n]+(?:\n[^$\n]+)?)\$",
    re.DOTALL | re.MULTILINE,
)
"""Code in Markdown, or a formula between dollars, which may extend over two lines."""


def mathml(match: re.Match[str]) -> str:
    """Return the formula matched by `CODE_OR_FORMULA` as MathML; "" if it matched code."""
    tex = match["block"] or match["inline"]
    if tex is None:
        return ""
    tex = re.sub(r"\\arg\\(min|max)", r"\\operatorname{arg\1}", " ".join(tex.split()))
    return convert(tex, display="block" if match["block"] else "inline")


def paragraph(text: str) -> Markup:
    """Return a paragraph of a docstring as HTML; one that begins with "- " is a list."""
    if text.startswith("- "):
        items = re.split(r"\n- ", text[2:])
        return Markup("<ul>{}</ul>").format(
            Markup("").join(Markup("<li>{}</li>").format(inline(item)) for item in items)
        )
    return Markup("<p>{}</p>").format(inline(text))


def inline(text: str) -> Markup:
    """Return text as HTML, with its code and formulas; all else is escaped."""
    parts, end = [], 0
    for match in CODE_OR_FORMULA.finditer(text):
        parts.append(escape(text[end : match.start()]))
        if match["code"]:
            parts.append(Markup("<code>{}</code>").format(match["code"]))
        else:
            parts.append(Markup(mathml(match)) or escape(match[0]))
        end = match.end()
    return Markup("").join([*parts, escape(text[end:])])
