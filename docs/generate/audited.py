"""Tables from docs/bundle/audit/comparisons.json, written by `python -m docs.generate.audit`."""

import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from docs.generate.finished_runs import BUNDLE

ANSWERS = {
    "rounding": "the same, to rounding",
    "draws": "the same, within its error",
    "definition": "another definition",
    "theirs": "single precision in the library",
}
"""Kind of a comparison → the words for its expected answer."""
OURS = ("closed form", "enumeration", "quadrature")
"""Truths with which our methods are compared, in place of a library."""


@functools.cache
def content() -> Mapping[str, Any]:
    """Return all comparisons by name, and the additional numbers."""
    return json.loads((BUNDLE / "audit" / "comparisons.json").read_text(encoding="utf-8"))


def rows() -> list[Mapping[str, Any]]:
    """Return all comparisons; those with a known truth come first."""
    found = [row for group in content()["comparisons"].values() for row in group]
    return sorted(found, key=lambda row: row["library"] not in OURS)


def answer(row: Mapping[str, Any]) -> str:
    """Return the outcome of a comparison in words."""
    if row["agrees"] or row["kind"] in ("definition", "theirs"):
        return ANSWERS["rounding" if row["agrees"] and row["kind"] != "draws" else row["kind"]]
    return "different"


def summary_table(options: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each library, method and kind of answer."""
    yield ("compared with", "method", "quantities", "numbers", "largest difference", "answer")
    yield ("---", "---", "---:", "---:", "---:", "---")
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows():
        groups.setdefault((_named(row), row["method"], answer(row)), []).append(row)
    for (library, method, words), group in groups.items():
        numbers = sum(row["numbers"] for row in group)
        worst = max(group, key=lambda row: row["deviation"] or row["difference"])
        yield (library, method, str(len(group)), f"{numbers:,}", _difference(worst), words)


def comparisons_table(options: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each comparison."""
    yield ("compared with", "method", "quantity", "largest difference", "answer")
    yield ("---", "---", "---", "---:", "---")
    for row in rows():
        yield _named(row), row["method"], row["quantity"], _difference(row), answer(row)


def aside_table(options: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each additional number of a comparison."""
    yield ("", options["heading"])
    yield ("---", "---:")
    for name, (value, error) in content()["aside"][options["of"]].items():
        yield name, f"{value:.3f} ± {error:.3f}"


def _named(row: Mapping[str, Any]) -> str:
    return f"{row['library']} {row['version']}".strip()


def _difference(row: Mapping[str, Any]) -> str:
    """Return the difference: relative, or with its standard error and the largest deviation."""
    if row["kind"] == "draws":
        largest = f"at most {row['deviation']:.1f} standard errors"
        return f"{row['difference']:.1g} ± {row['error']:.1g}; {largest}"
    return f"{row['difference']:.1e}" if row["difference"] < 1e-3 else f"{row['difference']:.2g}"
