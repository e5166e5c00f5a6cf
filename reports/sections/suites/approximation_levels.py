"""Approximations of a known posterior: errors of the predictive and of the weights."""

from collections.abc import Iterator

from bnnbench.datasets.conditions.condition_names import FUNCTION, FUNCTION_INSIDE
from bnnbench.metrics import PROBED
from bnnbench.reports.judge.columns import cell_of, samples_of, score_under, with_decimals
from bnnbench.reports.judge.table import Column, Entry, Row, Table
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.sections.base import Block, Choice, Material, Section, origin_to_show
from bnnbench.reports.style import labels

NOTE = (
    "Every method approximates one posterior, which importance sampling computes. KL compares the "
    "Gaussian of the predictive's moments with the exact one, averaged over inputs. A ratio of "
    "deviations is a geometric mean over inputs or weights, the exact one below; above 1 is too "
    "wide. ± is half a 95 % interval over draws of the noise and of the prior's means."
)
DIVERGENCE, RATIO = "kl_from_exact", "eps_sigma"


def sections(material: Material) -> Iterator[Section]:
    """Yield the table of data sets with a known posterior."""
    choices = []
    for benchmark in material.benchmarks:
        if is_known(benchmark):
            table = rungs_table(benchmark)
            origin = origin_to_show(benchmark)
            block = Block(table, labels.sentence(table.title), origin=origin)
            choices.append(Choice((block,), "set", benchmark.title))
    if choices:
        yield Section("Compared with the exact posterior", NOTE, choices=tuple(choices))


def is_known(benchmark: Benchmark) -> bool:
    """Return whether a probe compared some run with the exact posterior."""
    return any(DIVERGENCE in r.outcome.scores.get(FUNCTION_INSIDE, {}) for r in benchmark.records)


def rungs_table(benchmark: Benchmark) -> Table:
    """Return methods by divergence and by ratios of deviations."""
    methods = list(benchmark.runs)
    pairs = [
        _column(benchmark, condition, metric)
        for metric in (DIVERGENCE, RATIO)
        for condition in _conditions(benchmark, metric)
    ]
    rows = []
    for k, method in enumerate(methods):
        runs = benchmark.runs[method]
        completed = sum(record.outcome.status == "completed" for record in runs)
        rows.append(Row(method, tuple(cells[k] for _, cells in pairs), len(runs), completed))
    title = f"{benchmark.title}: approximations and the exact posterior"
    return Table(title, tuple(column for column, _ in pairs), tuple(rows), benchmark.origin)


def _conditions(benchmark: Benchmark, metric: str) -> list[str]:
    """Return the conditions under which a metric was measured, the function first."""
    measured = {c for r in benchmark.records for c, s in r.outcome.scores.items() if metric in s}
    first = [name for name in (FUNCTION_INSIDE, FUNCTION) if name in measured]
    return [*first, *sorted(measured - {*first})]


def _column(benchmark: Benchmark, condition: str, metric: str) -> tuple[Column, list[Entry]]:
    what = "KL" if metric == DIVERGENCE else "deviation"
    column = Column(
        f"{metric}_{condition}",
        f"{what}, {benchmark.condition(condition)}",
        labels.UNITS.get(PROBED[metric].unit, PROBED[metric].unit.replace("_", " ")),
        None,
        by_fold=benchmark.by_fold,
        benchmark=benchmark.identity,
        condition=condition,
    )
    cells: list[Entry] = []
    for runs in benchmark.runs.values():
        values = list(samples_of(runs, score_under(condition, metric)).values())
        cells.append(cell_of(values) if values else "not scored")
    return with_decimals(column, [*cells]), cells
