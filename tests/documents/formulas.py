"""A hook of mkdocs: formulas in TeX become MathML, which browsers draw without a script."""

import re
from typing import Any

from latex2mathml.converter import convert

CODE_OR_FORMULA = re.compile(
    r"^```.*?^```|`[^`]*`|\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$\n]+(?:\n[^$\n]+)?)\$",
    re.DOTALL | re.MULTILINE,
)
PLACE = "formula%dhere"
"""What stands for a formula while Markdown, to which it would be marks, is read."""

_formulas: list[str] = []


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page's Markdown with places for its formulas; code stays as it is."""
    _formulas.clear()
    return CODE_OR_FORMULA.sub(_placed, markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Return the page with its formulas as MathML."""
    return re.sub(PLACE.replace("%d", r"(\d+)"), lambda found: _formulas[int(found[1])], html)


def _placed(match: re.Match[str]) -> str:
    tex = match["block"] or match["inline"]
    if tex is None:
        return match[0]
    tex = re.sub(r"\\arg\\(min|max)", r"\\operatorname{arg\1}", " ".join(tex.split()))
    _formulas.append(convert(tex, display="block" if match["block"] else "inline"))
    return PLACE % (len(_formulas) - 1)
