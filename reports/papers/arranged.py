"""A printed table as rows and columns; the columns are methods or layers of a network."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bnnbench.reports.papers.coverage import Printed, PrintedTable
from bnnbench.reports.papers.published import Published
from bnnbench.reports.style import labels
from bnnbench.reports.style.palette import LABELS

CONDITIONS = {
    "train_frac": "share of rows for training",
    "input_noise_var": "variance of input noise",
    "activation": "",
}
"""Name of a condition in the published files → its name on a page, if different."""

VALUES = {
    "lrelu0.01": "leaky ReLU (0.01)",
    "logistic_bernoulli": "logistic Bernoulli units",
    "logistic_transform": "logistic units",
}
"""Value of a condition in the published files → its name on a page."""

OF_OUTPUTS = "kl_class_posterior"
"""The metric of columns that are not layers."""

OF_A_METHOD = ("strategy", "epochs", "test_samples")
"""Conditions that do not distinguish rows of a table, since they belong to a method's column."""

OF_A_LAYER = ("layer", "variant", "init")
"""Conditions that do not distinguish blocks of rows if the columns are layers."""


@dataclass(frozen=True)
class Arranged:
    """Rows and columns of a printed table."""

    constant: Sequence[str]
    """The traits shared by all its numbers: data set, condition, metric."""
    columns: Mapping[str, str]
    """Layer, or the paper's name of a method in lower case → heading: our name if we ran one."""
    blocks: Mapping[str, Mapping[str, Mapping[str, Printed]]]
    """Blocks: heading ("" for a single block) → distinguishing text of a row → column → number."""

    @property
    def rows(self) -> Mapping[str, Mapping[str, Printed]]:
        """The rows of all blocks, by their distinguishing text with the block's heading."""
        return {
            ", ".join(filter(None, (block, row))): cells
            for block, rows in self.blocks.items()
            for row, cells in rows.items()
        }


def arranged(table: PrintedTable) -> Arranged:
    """Return a table's rows and columns, in the order of the paper."""
    of_layers = all("layer" in printed.published.protocol for printed in table.numbers)
    return _by_layer(table) if of_layers else _by_method(table)


def _by_method(table: PrintedTable) -> Arranged:
    parts = [_parts(printed.published) for printed in table.numbers]
    varying = {name for name in parts[0] if len({part[name] for part in parts}) > 1}
    methods: dict[str, str] = {}
    rows: dict[str, dict[str, Printed]] = {}
    for printed, part in zip(table.numbers, parts, strict=True):
        method = printed.published.method
        methods.setdefault(method, LABELS.get(method, printed.published.printed_method))
        if printed.judgement:
            methods[method] = printed.judgement.comparison.method
        row = ", ".join(text for name, text in part.items() if name in varying and text)
        rows.setdefault(row, {})[method] = printed
    shared = (name for name in parts[0] if name not in varying and name != "model")
    return Arranged([parts[0][name] for name in shared if parts[0][name]], methods, {"": rows})


def _by_layer(table: PrintedTable) -> Arranged:
    """Return rows of errors of one moment; a method's first row also has the output divergences."""
    columns: dict[str, str] = {}
    blocks: dict[str, dict[str, dict[str, Printed]]] = {}
    first: dict[tuple[str, str], str] = {}
    for printed in table.numbers:
        published = printed.published
        block = labels.sentence(", ".join(_conditions(published, OF_A_LAYER)))
        comparison = printed.judgement and printed.judgement.comparison
        method = comparison.method if comparison else published.printed_method
        row = f"{method}, {labels.in_text(published.metric)}"
        if published.metric == OF_OUTPUTS:
            variant = published.protocol["variant"]
            column, heading = variant, f"KL, {variant.replace('_', ' ')}"
            row = first.get((block, method), row)
        else:
            column = published.protocol["layer"]
            heading = column.replace("_", " ")
            first.setdefault((block, method), row)
        columns.setdefault(column, heading)
        blocks.setdefault(block, {}).setdefault(row, {})[column] = printed
    return Arranged([], columns, blocks)


def _parts(published: Published) -> dict[str, str]:
    """Return the traits of a number in its table other than its method: name → text."""
    return {
        "dataset": published.dataset.replace("_", " "),
        "model": published.model.replace("_", " "),
        "condition": ", ".join(_conditions(published, OF_A_METHOD)),
        "metric": labels.in_text(published.metric),
    }


def _conditions(published: Published, but: Sequence[str]) -> Iterator[str]:
    """Yield the conditions of a number as text, except for the names in `but`."""
    for name, value in published.protocol.items():
        if name not in but:
            title = CONDITIONS.get(name, name.replace("_", " "))
            yield " ".join(filter(None, (title, VALUES.get(value, value.replace("_", " ")))))
