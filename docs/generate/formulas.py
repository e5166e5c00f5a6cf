"""A hook of mkdocs: converts TeX formulas to MathML, which browsers draw without a script."""

import re
from typing import Any

from bnnbench.reports.style.formulas import CODE_OR_FORMULA, mathml

PLACE = "formula%dhere"
"""Placeholder of a formula during Markdown conversion, which would misread its characters."""

_formulas: list[str] = []


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page's Markdown with placeholders for its formulas; code stays as it is."""
    _formulas.clear()
    return CODE_OR_FORMULA.sub(_placed, markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Return the page with its formulas as MathML."""
    return re.sub(PLACE.replace("%d", r"(\d+)"), lambda found: _formulas[int(found[1])], html)


def _placed(match: re.Match[str]) -> str:
    formula = mathml(match)
    if not formula:
        return match[0]
    _formulas.append(formula)
    return PLACE % (len(_formulas) - 1)
