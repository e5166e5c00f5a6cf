"""Printed numbers of the papers compared with ours, for documents."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from statistics import fmean

from bnnbench.datasets.conditions.corruption_means import means
from bnnbench.reports.pages.site.paper_pages import number
from bnnbench.reports.pages.site.printed_counts import COLUMNS, counts_of, coverage_sentence
from bnnbench.reports.papers.arranged import arranged
from bnnbench.reports.papers.coverage import Printed, PrintedTable, table_title
from bnnbench.reports.papers.published import Published
from bnnbench.reports.papers.published import table as numbers_of
from bnnbench.reports.papers.verdicts import COMPARED
from bnnbench.reports.style import labels
from docs.generate.finished_runs import printed_tables
from docs.generate.measured import scores_of


def coverage_text(options: Mapping[str, str]) -> str:
    """Return how many numbers of a paper, or of all, agree, and why others are not compared."""
    return coverage_sentence(_tables(options))


def coverage_table(options: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each paper, or for each table with `by=table`.

    For a single paper, a row is one of its tables.
    """
    tables = _tables(options)
    one, by_table = "paper" in options, options.get("by") == "table"
    groups: dict[str, list[PrintedTable]] = {}
    for table in tables:
        paper = f"{table.paper}, {table.title}" if by_table else labels.paper(table.paper)
        groups.setdefault(table.title if one else paper, []).append(table)
    yield ("table" if one or by_table else "paper", *COLUMNS)
    yield ("---", *("---:" for _ in COLUMNS))
    for name, group in [*groups.items(), ("all", tables)]:
        yield name, *counts_of(group)


def departures_table(options: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each departure, with its agreements and others."""
    numbers = [n for t in _tables(options) for n in t.numbers if n.kind in COMPARED]
    yield "table", "profile", "departure", "agree", "differ"
    yield "---", "---", "---", "---:", "---:"
    found: dict[tuple[str, str, str], Counter[bool]] = {}
    for judgement in (n.judgement for n in numbers if n.judgement):
        published, profile = judgement.comparison.published, judgement.comparison.profile
        for text in judgement.departures.values():
            where = f"{published.paper}, {table_title(published.table)}", profile, text
            found.setdefault(where, Counter())[judgement.kind == "agrees"] += 1
    for where, counts in found.items():
        yield *where, str(counts[True] or ""), str(counts[False] or "")


def printed_table(options: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and the rows of printed tables that have the same columns.

    `methods` and `metrics` choose numbers; `rows` chooses rows, separated by semicolons; `profile`
    restricts the runs to one profile; `variant` uses runs such as "HMC (less noise)" in place of
    "HMC". With `errors`, standard errors and the paper's spreads follow the numbers.
    """
    found = [arranged(table) for table in _tables(options)]
    columns = found[0].columns
    if any(list(other.columns) != list(columns) for other in found):
        raise ValueError(f"the tables {options['tables']} have different columns")
    rows = {name: cells for table in found for name, cells in table.rows.items()}
    wanted = options["rows"].split(";") if "rows" in options else list(rows)
    yield ("", *columns.values())
    yield ("---", *("---:" for _ in columns))
    for name in wanted:
        cells = (rows[name].get(column) for column in columns)
        yield name, *(_cell(cell, "errors" in options) for cell in cells)


def neighbour_table(options: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and the rows of a printed table, with scores of another network.

    If `bundle` has a score under the same condition, it precedes the printed number. There is no
    verdict, since the runs belong to another experiment. `others` are methods that the paper lacks.
    """
    printed = numbers_of(options["paper"], options["table"])
    scores = scores_of(options["bundle"])
    ours = scores[scores.metric == printed[0].metric].groupby(["method", "condition"])["value"]
    by_condition = {(m.casefold(), where): value for (m, where), value in ours.mean().items()}
    of_corruptions = means(set(scores.condition))

    def score(method: str, where: str) -> float:
        parts = of_corruptions[where].parts if where in of_corruptions else (where,)
        return fmean(by_condition[method.casefold(), part] for part in parts)

    names = {method.casefold(): method for method in scores["method"]}
    methods = [m for m in dict.fromkeys(p.method for p in printed) if m in names]
    others = options["others"].split(",") if "others" in options else []
    yield ("", *(names[method] for method in methods), *others)
    yield ("---", *("---:" for _ in (*methods, *others)))
    rows: dict[str, dict[str, Published]] = {}
    for one in printed:
        rows.setdefault(one.condition or "", {})[one.method] = one
    for where, cells in rows.items():
        any_one = next(iter(cells.values()))
        theirs = (
            f"{number(cells[m], score(m, where))} ({number(cells[m], cells[m].value)})"
            for m in methods
        )
        alone = (number(any_one, score(other, where)) for other in others)
        yield where.replace("_", " "), *theirs, *alone


def layers_table(options: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each network; a column is one of its layers."""
    rows: dict[str, dict[str, Printed]] = {}
    for printed in (n for table in _tables(options) for n in table.numbers):
        published = printed.published
        name = published.dataset.split("-", 1)[1].replace("_", " ").replace("-", ", ")
        case = f"{name}, {published.method.split(', ')[-1]}" if "init" in published.method else name
        rows.setdefault(case, {})[published.protocol["layer"].replace("_", " ")] = printed
    layers = list(dict.fromkeys(layer for row in rows.values() for layer in row))
    yield ("network", *layers)
    yield ("---", *("---:" for _ in layers))
    for case, row in rows.items():
        yield case, *(_cell(row.get(layer), "errors" in options) for layer in layers)


def _cell(printed: Printed | None, errors: bool) -> str:
    if printed is None:
        return ""
    published = printed.published
    theirs = number(published, published.value)
    if errors and published.spread is not None:
        theirs += f" ± {number(published, published.spread)}"
    if printed.kind is None:
        return f"({theirs})"
    ours = number(published, printed.ours)
    error = printed.judgement and printed.judgement.comparison.standard_error
    if errors and error is not None:
        ours += f" ± {number(published, error)}"
    mark = "?" if printed.kind == "not comparable" else printed.sign
    return f"{ours} ({theirs}){mark and f' {mark}'}"


def _tables(options: Mapping[str, str]) -> list[PrintedTable]:
    """Return the printed tables that a comment names. Raises ValueError if there is none."""
    runs = {name: options[name] for name in ("profile", "variant") if name in options}
    tables = [
        replace(table, numbers=numbers)
        for table in printed_tables(**runs)
        if _chosen(options, "paper", table.paper)
        and _chosen(options, "tables", table.number)
        and (numbers := [n for n in table.numbers if _fits(options, n.published)])
    ]
    if not tables:
        raise ValueError(f"no printed table for {dict(options)}")
    return tables


def _fits(options: Mapping[str, str], published: Published) -> bool:
    return _chosen(options, "methods", published.method) and _chosen(
        options, "metrics", published.metric
    )


def _chosen(options: Mapping[str, str], name: str, value: str) -> bool:
    return name not in options or value in options[name].split(",")
