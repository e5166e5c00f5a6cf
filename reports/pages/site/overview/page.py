"""The front page: answers with their grades, and methods by questions."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from bnnbench.reports.pages.layout import packed, page
from bnnbench.reports.pages.site.overview.cells import Cell
from bnnbench.reports.pages.site.overview.overview import GRADES, PARTS, Overview
from bnnbench.reports.pages.site.overview.states import COSTS, State
from bnnbench.reports.style.numbers import slug
from bnnbench.reports.style.variants import in_words, variant_in_words

MOST_BYTES = 150_000
CLASSES = dict(
    zip(("best", "front", "undecided", "middle", "back", "fails"), "bfumkx", strict=True)
)
"""Kind of a cell → its class in the table."""
CHIPS = dict(zip(GRADES, "bfsun", strict=True))
"""Grade → the class of its chip."""


def overview_page(
    of: Overview, addresses: Mapping[str, str], common: dict[str, Any], advice: Sequence[str] = ()
) -> str:
    """Return the front page; raises `PageTooLarge` above 150,000 bytes.

    `addresses` has the board's page for each kind of question; `advice` are sentences on running
    several methods where none is best.
    """
    evidence = {c.ask.name: _evidence(c.task, addresses) for c in of.columns}
    return page(
        *("overview.html", "index.html", "bnnbench: which Bayesian method?", "Board"),
        {"overview": packed(_data(of, evidence))} | common,
        most_bytes=MOST_BYTES,
        of=of,
        parts=PARTS,
        grades=GRADES,
        chips=CHIPS,
        classes=CLASSES,
        costs=[cost for cost in COSTS if cost],
        places=places,
        variant_in_words=variant_in_words,
        families=sorted({row.family for row in of.networks}),
        questions=evidence,
        links=dict(common["methodPages"]),
        evidence={
            name: "".join(takewhile("#".__ne__, address)) for name, address in evidence.items()
        },
        advice=advice,
    )


def places(cell: Cell) -> str:
    """Return "1–17", "3" or "fails"."""
    if cell.kind == "fails":
        return "fails"
    return str(cell.low) if cell.low == cell.high else f"{cell.low}–{cell.high}"


def _evidence(task: Any, addresses: Mapping[str, str]) -> str:
    if task is None:
        return ""
    question = task.question
    return (
        f"{addresses[question.kind]}#rows={slug(question.data)}&settings={slug(question.settings)}"
    )


def _data(of: Overview, evidence: Mapping[str, str]) -> dict[str, Any]:
    """Return the states of all columns, in which texts, methods and equal states occur once."""
    texts: dict[str, int] = {}
    variants = [m for row in of.rows for m in row.variants]
    states: dict[int, tuple[int, list[Any]]] = {}

    def number(state: State) -> int:
        if id(state) not in states:
            states[id(state)] = len(states), _state(state, variants, texts)
        return states[id(state)][0]

    by_column = {
        name: {key: number(state) for key, state in by_key.items()}
        for name, by_key in of.states.items()
    }
    start = 0
    rows = []
    for row in of.rows:
        numbers = list(range(start, start + len(row.variants)))
        rows.append([row.name, numbers, int(row.for_scale), row.cost, row.family])
        start += len(row.variants)
    return {
        "columns": [[c.ask.name, c.head, c.title, evidence[c.ask.name]] for c in of.columns],
        "methods": [in_words(m) for m in variants],
        "rows": rows,
        "byColumn": by_column,
        "states": [state for _, state in states.values()],
        "texts": list(texts),
        "grades": list(GRADES.values()),
    }


def _state(of: State, variants: Sequence[str], texts: dict[str, int]) -> list[Any]:
    """Return the grade, name, sentence, facts, number of places, first method and cells."""
    said = [texts.setdefault(t, len(texts)) for t in (of.told.name, of.told.sentence)]
    facts = [texts.setdefault(t, len(texts)) for t in of.told.facts]
    cells = [
        [k, CLASSES[c.kind], c.low, c.high, *([texts.setdefault(c.why, len(texts))] * bool(c.why))]
        for k, m in enumerate(variants)
        if (c := of.cells.get(m))
    ]
    first = variants.index(of.first) if of.first in variants else -1
    return [list(GRADES).index(of.told.grade), *said, facts, of.count, first, cells]
