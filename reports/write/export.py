"""The tables of a page as Markdown, LaTeX and CSV."""

from collections.abc import Iterator, Sequence

from bnnbench.reports.judge.table import Cell, Column, Row, Table
from bnnbench.reports.style.numbers import number
from bnnbench.suites.engine.store.tables import csv_text

Tables = Sequence[tuple[str, Table]]
"""profile and table"""

LEGEND = "best mean; ≈ not significantly worse (paired t, Holm, 5 %)"


def markdown(tables: Tables) -> str:
    """Return the tables in Markdown."""
    parts = [f"Mean ± standard error over folds and seeds. Bold: {LEGEND}.\n"]
    for profile, table in tables:
        parts.append(f"### {escaped_markdown(_caption(profile, table))}\n")
        header = ["method", *map(heading, table.columns), "runs"]
        parts.append(_markdown_row(header))
        parts.append(_markdown_row(["---"] + ["---:"] * (len(header) - 1), plain=True))
        for row in table.rows:
            entries = zip(row.cells, table.columns, strict=True)
            cells = [_marked(e, c, "**{}**", "{} ≈", " ± ", escaped_markdown) for e, c in entries]
            parts.append(
                _markdown_row([escaped_markdown(row.method), *cells, _runs(row)], plain=True)
            )
        parts += [f"\n{escaped_markdown(line)}" for line in _notes(table)]
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
            f"\\caption{{{_latex(_caption(profile, table))}. Bold: {_latex(LEGEND)}.}}",
            f"\\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
            "\\toprule",
            " & ".join(map(_latex, header)) + " \\\\",
            "\\midrule",
        ]
        for row in table.rows:
            entries = zip(row.cells, table.columns, strict=True)
            style = ("\\textbf{{{}}}", "{}$\\,\\approx$", " $\\pm$ ", _latex)
            cells = [_marked(e, c, *style) for e, c in entries]
            parts.append(" & ".join([_latex(row.method), *cells, _latex(_runs(row))]) + " \\\\")
        parts += ["\\bottomrule", "\\end{tabular}"]
        parts += [f"\\par {_latex(line)}" for line in _notes(table)]
        parts += ["\\end{table}", ""]
    return "\n".join(parts)


CSV_COLUMNS = (
    *("profile", "table", "origin", "method", "column", "heading", "unit", "mean"),
    *("standard_error", "runs", "attempted", "completed", "mark", "p_value", "absent"),
    "unconverged",
)


UNSCALED = {"peak_bytes": "bytes", "fit_joules": "joules"}
"""Units in the files for values that a page shows in another unit; all others are fractions."""


def tidy(tables: Tables) -> str:
    """Return one line of CSV per cell, in the units of the files: fractions, bytes."""
    return csv_text(CSV_COLUMNS, (line for place in tables for line in _lines(*place)))


def _lines(profile: str, table: Table) -> Iterator[tuple[object, ...]]:
    for row in table.rows:
        for column, entry in zip(table.columns, row.cells, strict=True):
            unit = column.unit if column.scale == 1 else UNSCALED.get(column.name, "")
            place = (profile, table.title, table.origin, row.method, column.name)
            if isinstance(entry, Cell):
                values = (entry.mean, entry.standard_error, entry.runs)
                marks = (entry.mark, entry.p_value, "", entry.unconverged)
            else:
                values, marks = ("", "", 0), ("", "", entry, 0)
            yield (*place, column.heading, unit, *values, row.runs, row.completed, *marks)


def heading(column: Column) -> str:
    """Return a column's heading with its unit."""
    return f"{column.heading} ({column.unit})" if column.unit else column.heading


def printed(cell: Cell, column: Column) -> tuple[str, str]:
    """Return mean and standard error in the column's unit and decimals; "" for a missing error."""
    value = cell.mean * column.scale
    if column.name == "p_value" and value < 10**-column.decimals:
        return f"< {10**-column.decimals:g}", ""
    if column.digits:
        return f"{value:.{column.digits}g}", ""
    if column.kind == "cost" or cell.standard_error is None:
        return number(value, column.decimals), ""
    return number(value, column.decimals), number(
        cell.standard_error * column.scale, column.decimals
    )


def _marked(
    entry: Cell | str, column: Column, best: str, close: str, plus_minus: str, escape
) -> str:
    if isinstance(entry, str):
        return escape(entry)
    mean, error = printed(entry, column)
    text = {"best": best, "close": close, "": "{}"}[entry.mark]
    dagger = escape("†") if entry.unconverged else ""
    return text.format(escape(mean) + (plus_minus + escape(error) if error else "") + dagger)


def _notes(table: Table) -> list[str]:
    """Return the notes below a table."""
    lines = table.unconverged
    notes = [f"† Runs that did not converge: {'; '.join(lines)}."] if lines else []
    if table.unsteady:
        notes.append(f"Not predicted row by row: {'; '.join(table.unsteady)}.")
    if table.own_networks:
        notes.append(f"Networks of their own: {'; '.join(table.own_networks)}.")
    return notes + [f"Not scored: {line}." for line in table.unanswered]


def _caption(profile: str, table: Table) -> str:
    origin = "" if table.origin == "original" else f" [{table.origin} data]"
    return f"{table.title}{origin}, profile {profile}"


def _runs(row: Row) -> str:
    return str(row.runs) if row.completed == row.runs else f"{row.completed} of {row.runs}"


def _markdown_row(cells: Sequence[str], plain: bool = False) -> str:
    return "| " + " | ".join(cells if plain else map(escaped_markdown, cells)) + " |"


def escaped_markdown(text: str) -> str:
    """Return the text with all characters escaped that have a meaning in Markdown or HTML."""
    lines = " ".join(text.split())
    escaped = "".join(f"\\{c}" if c in "\\`*_[]|#~" else c for c in lines)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_LATEX = {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "≈": "$\\approx$",
    "±": "$\\pm$",
    "†": "$\\dagger$",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    '"': "''",
} | {c: f"\\{c}" for c in "{}$&#_%"}


def _latex(text: str) -> str:
    """Return the text with all characters escaped that have a meaning in LaTeX."""
    return "".join(_LATEX.get(c, c) for c in " ".join(text.split()))
