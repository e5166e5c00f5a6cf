"""The tables of a page as Markdown, LaTeX and CSV."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from bnnbench.engine.store.tables import csv_text
from bnnbench.reports.judge.table import Cell, Column, Row, Table
from bnnbench.reports.pages.captions import (
    MARKS,
    MARKS_LEGEND,
    caption,
    headed,
    not_compared,
)
from bnnbench.reports.style.numbers import number

Tables = Sequence[tuple[str, Table]]
"""profile and table"""


def markdown(tables: Tables) -> str:
    """Return the tables in Markdown."""
    parts = [f"{escaped_markdown(MARKS_LEGEND)}\n"]
    for profile, table in tables:
        parts.append(f"### {escaped_markdown(_caption(profile, table))}\n")
        header = ["method", *map(heading, table.columns), "runs"]
        parts.append(_markdown_row(header))
        parts.append(_markdown_row(["---"] + ["---:"] * (len(header) - 1), plain=True))
        for row in table.rows:
            entries = zip(row.cells, table.columns, strict=True)
            cells = [_marked(e, c, MARKDOWN, escaped_markdown) for e, c in entries]
            parts.append(
                _markdown_row([escaped_markdown(row.method), *cells, runs_of(row)], plain=True)
            )
        parts += [f"\n{escaped_markdown(line)}" for line in notes(table)]
        parts.append("")
    return "\n".join(parts)


def latex(tables: Tables) -> str:
    """Return the tables in LaTeX; they need the packages booktabs and amsmath."""
    parts = ["% Needs \\usepackage{booktabs}."]
    for profile, table in tables:
        header = ["method", *map(heading, table.columns), "runs"]
        parts += [
            "\\begin{table}",
            "\\centering",
            f"\\caption{{{_latex(_caption(profile, table))}. {_latex(MARKS_LEGEND)}}}",
            f"\\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
            "\\toprule",
            " & ".join(map(_latex, header)) + " \\\\",
            "\\midrule",
        ]
        for row in table.rows:
            entries = zip(row.cells, table.columns, strict=True)
            cells = [_marked(e, c, LATEX, _latex) for e, c in entries]
            parts.append(" & ".join([_latex(row.method), *cells, _latex(runs_of(row))]) + " \\\\")
        parts += ["\\bottomrule", "\\end{tabular}"]
        parts += [f"\\par {_latex(line)}" for line in notes(table)]
        parts += ["\\end{table}", ""]
    return "\n".join(parts)


CSV_COLUMNS = (
    *("profile", "table", "origin", "method", "column", "heading", "unit", "mean"),
    *("standard_error", "half_width", "low", "high", "replicates", "overlap"),
    *("runs", "attempted", "completed", "state", "adjusted_p", "equal_p", "witness", "freedom"),
    *("question", "level", "margin", "common_runs", "absent", "unconverged"),
)

Style = Mapping[str, str]
"""State → the form of a number in that state; "±" → the sign of an interval."""

MARKDOWN: Style = {
    **{state: f"{{}} {mark}".rstrip() for state, mark in MARKS.items()},
    "best": "**{}** ●",
    "leads": "**{}** ?",
    "not eligible": "({}) {letter}",
    "±": " ± ",
}
LATEX: Style = {
    "": "{}",
    "best": "\\textbf{{{}}}\\,$\\bullet$",
    "leads": "\\textbf{{{}}}\\,?",
    "equal": "{}\\,$=$",
    "worse": "{}\\,$\\downarrow$",
    "undecided": "{}\\,?",
    "not eligible": "({})$^{{{letter}}}$",
    "±": " $\\pm$ ",
}

PLAIN: Style = {"": "{}", "±": " ± "}

UNSCALED = {"peak_bytes": "bytes", "fit_joules": "joules"}
"""Units in the files for values that a page shows in another unit; percentages are fractions."""


def tidy(tables: Tables) -> str:
    """Return one line of CSV per cell, in the units of the files: fractions, bytes."""
    return csv_text(CSV_COLUMNS, (line for place in tables for line in _lines(*place)))


def _lines(profile: str, table: Table) -> Iterator[tuple[object, ...]]:
    for row in table.rows:
        for column, entry in zip(table.columns, row.cells, strict=True):
            unit = column.unit if column.scale == 1 else UNSCALED.get(column.name, "")
            place = (profile, table.title, table.origin, row.method, column.name)
            place = (*place, column.heading, unit)
            counts = (row.runs, row.completed)
            if isinstance(entry, Cell):
                numbers = (*_numbers(entry, column), entry.runs)
                yield (*place, *numbers, *counts, *_judgement(entry, column), "", entry.unconverged)
            else:
                yield (*place, *([""] * 7), 0, *counts, *([""] * 9), entry, 0)


def _numbers(cell: Cell, column: Column) -> tuple[object, ...]:
    h = cell.half_width
    ends = ("", "") if h is None else (cell.mean - h, cell.mean + h)
    return cell.mean, cell.standard_error, h, *ends, cell.replicates or "", column.overlap


def _judgement(cell: Cell, column: Column) -> tuple[object, ...]:
    """Return state, p-values, witness and freedom of a cell, and the terms of its column."""
    standing, decision = cell.standing, column.decision
    state = standing.state
    if standing.excluded:
        state = f"{state}: {standing.excluded.kind}"
    of_cell = (state, standing.adjusted_p, standing.equal_p, standing.witness, standing.freedom)
    if decision is None or not decision.question:
        return (*of_cell, "", "", "", decision.runs if decision else "")
    return (*of_cell, decision.question, decision.level, decision.margin, decision.runs)


def heading(column: Column) -> str:
    """Return a column's heading with its unit."""
    return f"{column.heading} ({column.unit})" if column.unit else column.heading


def printed(cell: Cell, column: Column) -> tuple[str, str]:
    """Return mean and half of its interval in the column's unit and decimals; "" if absent."""
    value = cell.mean * column.scale
    if column.name == "p_value" and value < 10**-column.decimals:
        return f"< {10**-column.decimals:g}", ""
    if column.digits:
        return f"{value:.{column.digits}g}", ""
    if column.kind == "cost" or cell.half_width is None:
        return number(value, column.decimals), ""
    return number(value, column.decimals), number(cell.half_width * column.scale, column.decimals)


def plain(entry: Cell | str, column: Column) -> str:
    """Return a cell of a column whose methods are not compared, in plain text."""
    return _marked(entry, column, PLAIN, str)


def _marked(entry: Cell | str, column: Column, style: Style, escape: Callable[[str], str]) -> str:
    if isinstance(entry, str):
        return escape(entry)
    mean, half_width = printed(entry, column)
    excluded = entry.standing.excluded
    dagger = escape("†") if entry.unconverged else ""
    text = escape(mean) + (style["±"] + escape(half_width) if half_width else "") + dagger
    letter = excluded.letter if excluded else ""
    return style[entry.standing.state].format(text, letter=letter)


def notes(table: Table) -> list[str]:
    """Return the notes below a table."""
    lines = table.unconverged
    notes = [*headed(table), *filter(None, [not_compared(table), caption(table)])]
    notes += [f"{line}." for line in table.shortened]
    notes += [f"† Runs that did not converge: {'; '.join(lines)}."] if lines else []
    if table.unsteady:
        notes.append(f"Not predicted row by row: {'; '.join(table.unsteady)}.")
    if table.in_process:
        notes.append(
            "Runs with --in-process, where third-party methods see test rows and can change "
            f"numbers of others: {'; '.join(table.in_process)}."
        )
    if table.rows_counted_twice:
        notes.append(
            "Prior means from the fitted rows, which therefore count twice (empirical Bayes, no "
            f"posterior): {'; '.join(table.rows_counted_twice)}."
        )
    if table.own_networks:
        notes.append(f"Custom networks: {'; '.join(table.own_networks)}.")
    notes += [f"{line}." for line in table.yardsticks]
    if table.elsewhere:
        notes.append(f"External predictions: {'; '.join(table.elsewhere)}.")
    return notes + [f"Not scored: {line}." for line in table.unanswered]


def _caption(profile: str, table: Table) -> str:
    origin = "" if table.origin == "original" else f" [{table.origin} data]"
    return f"{table.title}{origin}, profile {profile}"


def runs_of(row: Row) -> str:
    """Return the number of completed runs, and of all runs if some were not completed."""
    return str(row.runs) if row.completed == row.runs else f"{row.completed} of {row.runs}"


def _markdown_row(cells: Sequence[str], plain: bool = False) -> str:
    return "| " + " | ".join(cells if plain else map(escaped_markdown, cells)) + " |"


def escaped_markdown(text: str) -> str:
    """Return the text with all special characters of Markdown and HTML escaped."""
    lines = " ".join(text.split())
    escaped = "".join(f"\\{c}" if c in "\\`*_[]|#~" else c for c in lines)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_LATEX = {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "●": "$\\bullet$",
    "↓": "$\\downarrow$",
    "±": "$\\pm$",
    "\u00a0": "~",
    "†": "$\\dagger$",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    '"': "''",
} | {c: f"\\{c}" for c in "{}$&#_%"}


def _latex(text: str) -> str:
    """Return the text with all special characters of LaTeX escaped."""
    return "".join(_LATEX.get(c, c) for c in " ".join(text.split()))
