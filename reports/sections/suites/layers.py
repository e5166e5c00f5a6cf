"""Accuracy of propagated moments, layer by layer, with the values printed in paper 001."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from bnnbench.engine.records.record import Record
from bnnbench.metrics import PROBED
from bnnbench.metrics.statistics import mean, replicates
from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.figures.layers import Errors, draw_layers
from bnnbench.reports.judge.columns import cell_of
from bnnbench.reports.judge.table import Cell, Column, Entry, Row, Table
from bnnbench.reports.papers.published import Published, table
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.sections.base import Block, Choice, Material, Section, figures, origin_to_show
from bnnbench.reports.style import labels
from bnnbench.reports.style.palette import Style

KINDS = {"C": "conv", "CA": "conv + act", "A": "act", "F": "last", "P": "pool"}
DIVERGENCES = {
    "KL": ("softmax", "softmax_simplified"),
    "KL′": ("softmax_full",),
}
"""Column heading → conditions whose divergence it shows: the first that a method has."""
ERRORS = ("eps_mu", "eps_sigma")
FLOORS = ("eps_mu_floor", "kl_floor")
ERROR_DECIMALS = 3


@dataclass(frozen=True)
class Layered:
    """One case: the errors of every method after every layer."""

    benchmark: Benchmark

    @cached_property
    def methods(self) -> dict[str, tuple[Record, ...]]:
        """Method → its completed runs that were measured."""
        measured = {
            method: tuple(r for r in runs if not self._all_layers.isdisjoint(r.outcome.scores))
            for method, runs in self.benchmark.runs.items()
        }
        return {method: runs for method, runs in measured.items() if runs}

    @cached_property
    def layers(self) -> tuple[str, ...]:
        """The conditions that are layers, in the order of the network."""
        measured = {c for runs in self.methods.values() for r in runs for c in r.outcome.scores}
        return tuple(sorted(measured & self._all_layers, key=self._depth))

    @cached_property
    def _all_layers(self) -> frozenset[str]:
        """The conditions of any run that are layers."""
        return frozenset(
            c for c, traits in self.benchmark.traits.items() if traits.layer is not None
        )

    def _depth(self, layer: str) -> int:
        return self.benchmark.traits[layer].layer or 0

    def kind(self, layer: str) -> str:
        """Return the letters for the operations of a layer, such as "CA"."""
        return self.benchmark.traits[layer].layer_kind

    def heading(self, layer: str) -> str:
        """Return number and operations of a layer, such as "2 conv"."""
        return f"{self._depth(layer)} {KINDS.get(self.kind(layer), self.kind(layer))}"

    def values(self, method: str, condition: str, metric: str) -> list[float]:
        """Return an error of each replicate: of the seeds, or of the folds if there are several."""
        samples = {
            (r.fold, r.seed): r.outcome.scores[condition][metric]
            for r in self.methods[method]
            if metric in r.outcome.scores.get(condition, {})
        }
        return replicates(samples, by_fold=len({fold for fold, _ in samples}) > 1)

    @cached_property
    def printed(self) -> Mapping[tuple[str, str, str], Published]:
        """Method in lower case, condition and metric → the printed score."""
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
        """The text above the table: the measured errors and the truth."""
        probes = [p for r in self.benchmark.records for p in _probes(r)]
        samples = sorted({int(str(p["samples"])) for p in probes if "samples" in p})
        images = sorted({int(str(p["images"])) for p in probes if "images" in p})
        errors = (
            "ε of μ: the mean error of the means, in mean true standard deviations. ε of σ: the "
            "geometric mean of the ratio of standard deviations, 1 if exact, below 1 if too small. "
        )
        if not samples:
            return errors + (
                "Means and deviations are those of a channel over data and positions, as computed "
                "from the statistics of the inputs. The truth is computed from all training inputs."
            )
        return errors + (
            "KL: the divergence of the class probabilities from the mean over samples, by the "
            "simplified softmax; KL′: by the full one. Noise is the variance of the noise on the "
            f"inputs. The truth is estimated from {_span(samples)} samples of each of "
            f"{_span(images)} test images; the floor is the error that exact moments would show "
            "with this number of samples."
        )


def layer_table(layered: Layered) -> Table:
    """Return methods and errors by layers, with printed rows, the floor and excluded shares."""
    rows = []
    for method in layered.methods:
        for metric in ERRORS:
            rows += _rows(layered, method, metric)
    if layered.methods:
        rows += _sampling(layered, next(reversed(layered.methods)))
    places = [*layered.layers, *[""] * len(DIVERGENCES)]
    columns = [
        replace(_column(name), benchmark=layered.benchmark.identity, condition=place)
        for name, place in zip(_headings(layered), places, strict=True)
    ]
    title = f"{layered.benchmark.title}: accuracy of moments"
    filled = [k for k in range(len(columns)) if any(row.cells[k] for row in rows)]
    rows = [replace(row, cells=tuple(row.cells[k] for k in filled)) for row in rows]
    return Table(title, tuple(columns[k] for k in filled), tuple(rows), layered.benchmark.origin)


def _headings(layered: Layered) -> list[str]:
    return [*map(layered.heading, layered.layers), *DIVERGENCES]


def _rows(layered: Layered, method: str, metric: str) -> Iterator[Row]:
    """Yield the row of an error, followed by its printed row."""
    runs = layered.benchmark.runs[method]
    completed = sum(record.outcome.status == "completed" for record in runs)
    cells = [_cell(layered.values(method, layer, metric)) for layer in layered.layers]
    if not any(isinstance(cell, Cell) for cell in cells):
        return
    kl = metric == "eps_mu"
    cells += [_divergence(layered, method, names) if kl else "" for names in DIVERGENCES.values()]
    name = f"{method}, {labels.metric(metric)}"
    yield Row(name, tuple(cells), len(runs), completed, label=method)
    below = [_printed(layered, method, (layer,), metric) for layer in layered.layers]
    for names in DIVERGENCES.values():
        below.append(_printed(layered, method, names, "kl_class_posterior") if kl else "")
    if any(isinstance(cell, Cell) for cell in below):
        yield Row(f"{method}, {labels.metric(metric)} (printed)", tuple(below), 1, 1)


def _divergence(layered: Layered, method: str, names: Sequence[str]) -> Entry:
    cells = (_cell(layered.values(method, name, "kl_class_posterior")) for name in names)
    return next((cell for cell in cells if cell), "")


def _printed(layered: Layered, method: str, conditions: Sequence[str], metric: str) -> Entry:
    keys = ((method.casefold(), condition, metric) for condition in conditions)
    rows = (layered.printed[key] for key in keys if key in layered.printed)
    return next((Cell(row.value, None, 1) for row in rows), "")


def _sampling(layered: Layered, method: str) -> Iterator[Row]:
    """Yield the floors of `method`, and the share of units that were left out."""
    runs = len(layered.methods[method])
    names = [(layer, "eps_mu_floor") for layer in layered.layers]
    divergences = [
        next((n for n in names if layered.values(method, n, "kl_floor")), "")
        for names in DIVERGENCES.values()
    ]
    names += [(name, "kl_floor") for name in divergences]
    floors = [_cell(layered.values(method, *name)) for name in names]
    if any(isinstance(cell, Cell) and cell.mean for cell in floors):
        yield Row("floor of ε of μ and KL", tuple(floors), runs, runs)
    out = [_cell(layered.values(method, layer, "excluded_share")) for layer in layered.layers]
    if any(isinstance(cell, Cell) and cell.mean for cell in out):
        yield Row("share of units without ε of σ", (*out, "", ""), runs, runs)


def _cell(values: Sequence[float]) -> Entry:
    return cell_of(values) if values else ""


def _column(name: str) -> Column:
    if name in DIVERGENCES:
        return Column(name, name, "nats", None, digits=2)
    return Column(name, name, "", None, ERROR_DECIMALS)


def sections(material: Material) -> Iterator[Section]:
    """Yield the errors of propagated moments after each layer, if they were measured."""
    drawings: list[Drawing] = []
    choices = []
    for benchmark, name, where in material.figure_places("layers"):
        layered = Layered(benchmark)
        if layered.layers:
            drawings += layer_drawings(layered, material.styles, name, where)
            heading = benchmark.title
            origin = origin_to_show(benchmark)
            block = Block(layer_table(layered), heading, origin=origin, counts_runs=False)
            choices.append(Choice((block,), "set", heading, layered.explanation))
    about = (
        "Errors of propagated moments relative to samples, against depth. The dotted line marks no "
        "error of σ, or the error of μ that exact means would show with this number of samples."
    )
    if choices:
        galleries = figures("Moments by layer", about, drawings)
        title = "Accuracy of moments, layer by layer"
        yield Section(title, choices=tuple(choices), galleries=galleries)


def layer_drawings(
    layered: Layered, styles: Mapping[str, Style], name: str, where: str
) -> tuple[Drawing, ...]:
    """Return each error against depth, methods as lines, printed values as hollow marks."""
    drawings = []
    kinds = [layered.kind(layer) for layer in layered.layers]
    for metric in ERRORS:
        lines, marks = {}, {}
        for method in layered.methods:
            values = [layered.values(method, layer, metric) for layer in layered.layers]
            if all(values):
                lines[method] = [mean(numbers) for numbers in values]
            rows = [layered.printed.get((method.casefold(), c, metric)) for c in layered.layers]
            if any(rows):
                marks[method] = [row.value if row else None for row in rows]
        floors = [
            layered.values(next(iter(layered.methods)), c, "eps_mu_floor") for c in layered.layers
        ]
        floor = mean(floors[0]) if metric == "eps_mu" and floors[0] else None
        if lines:
            errors = Errors(metric, lines, marks, floor)
            drawings.append(draw_layers(errors, kinds, styles, f"{name}-{metric}", where))
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
