"""Accuracy of propagated moments, layer by layer, beside what paper 001 prints of it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from bnnbench.metrics import PROBED
from bnnbench.metrics.statistics import mean, replicates
from bnnbench.reports.figures import layers as figure
from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.judge.columns import standard_error
from bnnbench.reports.judge.table import Cell, Column, Entry, Row, Table
from bnnbench.reports.papers.published import Published, table
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.sections.base import Block, Choice, Material, Section, figures, origin_to_show
from bnnbench.reports.style import labels
from bnnbench.reports.style.palette import Style
from bnnbench.suites.engine.store.record import Record

LAYER = re.compile(r"layer_(\d+)_([A-Z]+)")
KINDS = {"C": "conv", "CA": "conv + act", "A": "act", "F": "last", "P": "pool"}
DIVERGENCES = {
    "KL": ("softmax", "softmax_simplified"),
    "KL′": ("softmax_full",),
}
"""Heading of a column → conditions whose divergence it holds: whichever a method has."""
ERRORS = ("eps_mu", "eps_sigma")
FLOORS = ("eps_mu_floor", "kl_floor")
ERROR_DECIMALS = 3


@dataclass(frozen=True)
class Layered:
    """One case: the errors of every method behind every layer."""

    benchmark: Benchmark

    @cached_property
    def methods(self) -> dict[str, tuple[Record, ...]]:
        """Method → its completed runs that were measured."""
        found = {
            method: tuple(r for r in runs if any(map(is_layer, r.scores)))
            for method, runs in self.benchmark.runs.items()
        }
        return {method: runs for method, runs in found.items() if runs}

    @cached_property
    def layers(self) -> tuple[str, ...]:
        """The conditions that are layers, in the order of the network."""
        found = {c for runs in self.methods.values() for r in runs for c in r.scores}
        return tuple(sorted(filter(is_layer, found), key=_place))

    def values(self, method: str, condition: str, metric: str) -> list[float]:
        """Return the replicates of an error: its seeds, or folds where there are several."""
        samples = {
            (r.fold, r.seed): r.scores[condition][metric]
            for r in self.methods[method]
            if metric in r.scores.get(condition, {})
        }
        return replicates(samples, by_fold=len({fold for fold, _ in samples}) > 1)

    @cached_property
    def printed(self) -> Mapping[tuple[str, str, str], Published]:
        """Method in lower case, condition and metric → what is printed of it."""
        claims = {
            (str(entry.get("paper")), str(entry.get("table")))
            for record in self.benchmark.records
            for entry in record.reproduces
        }
        rows = (row for claim in sorted(claims) for row in table(*claim))
        return {
            (row.method, row.condition, row.metric): row
            for row in rows
            if row.condition
            and (row.dataset, row.metric in PROBED) == (self.benchmark.dataset, True)
        }

    @property
    def explanation(self) -> str:
        """What was measured, in words."""
        probes = [p for r in self.benchmark.records for p in _probes(r)]
        samples = sorted({int(str(p["samples"])) for p in probes if "samples" in p})
        images = sorted({int(str(p["images"])) for p in probes if "images" in p})
        errors = (
            "ε of μ: the mean error of the means, in mean true standard deviations. ε of σ: the "
            "geometric mean of the ratio of standard deviations, 1 if exact, below 1 if too small. "
        )
        if not samples:
            return errors + (
                "Means and deviations are those of a channel over data and positions, as they "
                "follow from the statistics of the inputs; the truth are all training inputs."
            )
        return errors + (
            "KL: the divergence of the class probabilities from the mean over samples, by the "
            "simplified softmax; KL′: by the full one. Noise is that of the inputs, by its "
            "variance. The truth are "
            f"{_span(samples)} samples of each of {_span(images)} test images; the floor is what "
            "exact moments would show beside so few. A method that takes over the network which "
            "another trained has next to no time of fitting."
        )


def is_layer(condition: str) -> bool:
    """Return whether a condition is a layer of a network."""
    return LAYER.fullmatch(condition) is not None


def layer_table(found: Layered) -> Table:
    """Return methods and errors by layers, with printed rows, the floor and what is left out."""
    rows = []
    for method in found.methods:
        for metric in ERRORS:
            rows += _rows(found, method, metric)
    if found.methods:
        rows += _sampling(found, next(reversed(found.methods)))
    places = [*found.layers, *[""] * len(DIVERGENCES)]
    columns = [
        replace(_column(name), benchmark=found.benchmark.identity, condition=place)
        for name, place in zip(_headings(found), places, strict=True)
    ]
    title = f"{found.benchmark.title}: accuracy of moments"
    shown = [k for k in range(len(columns)) if any(row.cells[k] for row in rows)]
    rows = [replace(row, cells=tuple(row.cells[k] for k in shown)) for row in rows]
    return Table(title, tuple(columns[k] for k in shown), tuple(rows), found.benchmark.origin)


def _headings(found: Layered) -> list[str]:
    return [*map(heading, found.layers), *DIVERGENCES]


def heading(layer: str) -> str:
    """Return "2 conv" of "layer_2_C"."""
    number, kind = _match(layer).groups()
    return f"{number} {KINDS.get(kind, kind)}"


def _rows(found: Layered, method: str, metric: str) -> Iterator[Row]:
    """Yield the row of an error, and the printed one beneath."""
    runs = found.benchmark.runs[method]
    completed = sum(record.status == "completed" for record in runs)
    cells = [_cell(found.values(method, layer, metric)) for layer in found.layers]
    if not any(isinstance(cell, Cell) for cell in cells):
        return
    kl = metric == "eps_mu"
    cells += [_divergence(found, method, names) if kl else "" for names in DIVERGENCES.values()]
    name = f"{method}, {labels.metric(metric)}"
    yield Row(name, tuple(cells), len(runs), completed, label=method)
    below = [_printed(found, method, (layer,), metric) for layer in found.layers]
    for names in DIVERGENCES.values():
        below.append(_printed(found, method, names, "kl_class_posterior") if kl else "")
    if any(isinstance(cell, Cell) for cell in below):
        yield Row(f"{method}, {labels.metric(metric)} (printed)", tuple(below), 1, 1)


def _divergence(found: Layered, method: str, names: Sequence[str]) -> Entry:
    cells = (_cell(found.values(method, name, "kl_class_posterior")) for name in names)
    return next((cell for cell in cells if cell), "")


def _printed(found: Layered, method: str, conditions: Sequence[str], metric: str) -> Entry:
    keys = ((method.casefold(), condition, metric) for condition in conditions)
    rows = (found.printed[key] for key in keys if key in found.printed)
    return next((Cell(row.value, None, 1) for row in rows), "")


def _sampling(found: Layered, method: str) -> Iterator[Row]:
    """Yield what `method` was measured against: the floors, and units that were left out."""
    runs = len(found.methods[method])
    names = [(layer, "eps_mu_floor") for layer in found.layers]
    divergences = [
        next((n for n in names if found.values(method, n, "kl_floor")), "")
        for names in DIVERGENCES.values()
    ]
    names += [(name, "kl_floor") for name in divergences]
    floors = [_cell(found.values(method, *name)) for name in names]
    if any(isinstance(cell, Cell) and cell.mean for cell in floors):
        yield Row("floor of ε of μ and KL", tuple(floors), runs, runs)
    out = [_cell(found.values(method, layer, "excluded_share")) for layer in found.layers]
    if any(isinstance(cell, Cell) and cell.mean for cell in out):
        yield Row("share of units without ε of σ", (*out, "", ""), runs, runs)


def _cell(values: Sequence[float]) -> Entry:
    return Cell(mean(values), standard_error(values), len(values)) if values else ""


def _column(name: str) -> Column:
    if name in DIVERGENCES:
        return Column(name, name, "nats", None, digits=2)
    return Column(name, name, "", None, ERROR_DECIMALS)


def sections(material: Material) -> Iterator[Section]:
    """Return the errors of propagated moments behind each layer, where they were measured."""
    drawings: list[Drawing] = []
    choices = []
    for benchmark, name, where in material.named("layers"):
        found = Layered(benchmark)
        if found.layers:
            drawings += layer_drawings(found, material.styles, name, where)
            heading = benchmark.title
            origin = origin_to_show(benchmark)
            block = Block(layer_table(found), heading, origin=origin, counts_runs=False)
            choices.append(Choice((block,), "set", heading, found.explanation))
    about = (
        "Errors of propagated moments beside samples, against depth. Dotted: no error of σ, and "
        "the error of μ that exact means would show beside so many samples."
    )
    if choices:
        galleries = figures("Moments by layer", about, drawings)
        title = "Accuracy of moments, layer by layer"
        yield Section(title, choices=tuple(choices), galleries=galleries)


def layer_drawings(
    found: Layered, styles: Mapping[str, Style], name: str, where: str
) -> tuple[Drawing, ...]:
    """Return each error against depth, methods as lines, printed values as hollow marks."""
    drawings = []
    kinds = [_match(layer)[2] for layer in found.layers]
    for metric in ERRORS:
        lines, marks = {}, {}
        for method in found.methods:
            values = [found.values(method, layer, metric) for layer in found.layers]
            if all(values):
                lines[method] = [mean(one) for one in values]
            rows = [found.printed.get((method.casefold(), c, metric)) for c in found.layers]
            if any(rows):
                marks[method] = [row.value if row else None for row in rows]
        floors = [found.values(next(iter(found.methods)), c, "eps_mu_floor") for c in found.layers]
        floor = mean(floors[0]) if metric == "eps_mu" and floors[0] else None
        if lines:
            shown = figure.Errors(metric, lines, marks, floor)
            drawings.append(figure.draw(shown, kinds, styles, f"{name}-{metric}", where))
    return tuple(drawings)


def _probes(record: Record) -> list[Mapping[str, object]]:
    probes = record.run.get("probes", ())
    return [p for p in probes if isinstance(p, Mapping)] if isinstance(probes, list | tuple) else []


def _span(counts: Sequence[int]) -> str:
    return (
        " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
        if counts
        else "all"
    )


def _place(layer: str) -> int:
    return int(_match(layer)[1])


def _match(layer: str) -> re.Match[str]:
    found = LAYER.fullmatch(layer)
    assert found, layer
    return found
