"""A printed table as rows of conditions and columns of methods."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bnnbench.reports.papers.coverage import Printed, PrintedTable
from bnnbench.reports.papers.published import Published
from bnnbench.reports.style import labels
from bnnbench.reports.style.palette import LABELS

CONDITIONS = {"train_frac": "share of rows for training"}
"""Name of a condition in the published files → its name on a page, where that is another."""

OF_A_METHOD = ("strategy", "epochs", "test_samples")
"""Conditions that set no row of a table apart: a method's column has them."""


@dataclass(frozen=True)
class Arranged:
    """Rows and columns of a printed table."""

    constant: Sequence[str]
    """The traits that all its numbers share: data set, condition, metric."""
    methods: Mapping[str, str]
    """The paper's name of a method in lower case → ours, or as it is known where none was run."""
    rows: Mapping[str, Mapping[str, Printed]]
    """The traits that set a row apart → the paper's name of a method → the number."""


def arranged(table: PrintedTable) -> Arranged:
    """Return a table's rows and columns, in the order of the paper."""
    parts = [_parts(printed.published) for printed in table.numbers]
    varying = {name for name in parts[0] if len({part[name] for part in parts}) > 1}
    methods: dict[str, str] = {}
    rows: dict[str, dict[str, Printed]] = {}
    for printed, part in zip(table.numbers, parts, strict=True):
        method = printed.published.method
        methods.setdefault(method, LABELS.get(method, method))
        if printed.judgement:
            methods[method] = printed.judgement.comparison.method
        row = ", ".join(text for name, text in part.items() if name in varying and text)
        rows.setdefault(row, {})[method] = printed
    shared = (name for name in parts[0] if name not in varying and name != "model")
    return Arranged([parts[0][name] for name in shared if parts[0][name]], methods, rows)


def _parts(published: Published) -> dict[str, str]:
    """Return what sets a number apart in its table, but for the method: name → text."""
    condition = [
        f"{CONDITIONS.get(name, name.replace('_', ' '))} {value}"
        for name, value in published.protocol.items()
        if name not in OF_A_METHOD
    ]
    return {
        "dataset": published.dataset.replace("_", " "),
        "model": published.model.replace("_", " "),
        "condition": ", ".join(condition),
        "metric": labels.in_text(published.metric),
    }
