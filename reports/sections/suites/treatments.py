"""Treatments of a trained network: scores, and costs beyond the network's own."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bnnbench.engine.records.record import Record
from bnnbench.reports.judge.columns import cost_column, filled, score_column, score_under
from bnnbench.reports.judge.table import Column, Entry, Row, Table
from bnnbench.reports.judge.treatments import (
    by_seen_rows,
    chosen_by,
    given_network,
    is_untreated,
    predict_seconds,
)
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.sections.base import Block, Choice, Material, Section, origin_to_show

SCORES = ("nll", "log_likelihood", "accuracy", "rmse", "ece", "picp_90")
SETS = ("set_coverage", "interval_coverage")
OUTSIDE = "auroc_ood"
COSTS = ("fit_seconds", "predict_seconds")
NOTE = (
    "All costs are in addition to the training of the given network. A fit includes the choice of "
    "settings. The relative cost is the time of a prediction divided by the given network's."
)
SEEN_NOTE = (
    "* The calibration rows are training rows, which the network has seen: what was chosen by them "
    "is not to be trusted."
)


def sections(material: Material) -> Iterator[Section]:
    """Yield the table of treatments of each trained network."""
    choices = [
        Choice((block,), "set", benchmark.title)
        for benchmark in material.benchmarks
        for block in _blocks(benchmark, [*benchmark.runs])
    ]
    if choices:
        yield Section("Treatments of the given network", choices=tuple(choices))


def _blocks(benchmark: Benchmark, methods: Sequence[str]) -> Iterator[Block]:
    note = f"{NOTE} {SEEN_NOTE}" if by_seen_rows(benchmark) else NOTE
    for table in treatment_tables(benchmark, methods):
        yield Block(table, note=note, origin=origin_to_show(benchmark), counts_runs=False)


def treatment_tables(
    benchmark: Benchmark, methods: Sequence[str], compared: bool = True
) -> Iterator[Table]:
    """Yield the table of a benchmark's treatments, the given network first; none without one.

    In a terminal, methods are not `compared`.
    """
    given = given_network(benchmark)
    if given is None:
        return
    methods = [given, *(method for method in methods if method != given)]
    columns = [_score(benchmark, *where, methods, compared) for where in _scores(benchmark)]
    columns += [cost_column(benchmark, name, methods) for name in COSTS]
    columns += [_ratios(benchmark, given, methods), _choices(benchmark, methods)]
    rows = tuple(
        _row(benchmark, method, [cells[k] for _, cells in columns])
        for k, method in enumerate(methods)
    )
    title = f"{benchmark.title}: treatments of the given network"
    yield Table(title, tuple(column for column, _ in columns), rows, benchmark.origin)


def _score(
    benchmark: Benchmark, condition: str, metric: str, methods: Sequence[str], compared: bool
) -> tuple[Column, list[Entry]]:
    column = score_column(benchmark, metric, condition)
    column = column if compared else replace(column, higher_is_better=None)
    return filled(column, benchmark, methods, score_under(condition, metric))


def _row(benchmark: Benchmark, method: str, cells: Sequence[Entry]) -> Row:
    runs = benchmark.runs[method]
    completed = sum(run.outcome.status == "completed" for run in runs)
    return Row(method, tuple(cells), len(runs), completed)


def _scores(benchmark: Benchmark) -> list[tuple[str, str]]:
    """Return condition and name of each score of the table."""
    main = benchmark.main
    names = {n for r in benchmark.records for n in r.outcome.scores.get(main, {})}
    if "nll" in names:
        names -= {"log_likelihood"}
    outside = [c for c in benchmark.conditions if benchmark.traits[c].outside]
    return [(main, n) for n in (*SCORES, *SETS) if n in names] + [(c, OUTSIDE) for c in outside]


def _ratios(benchmark: Benchmark, given: str, methods: Sequence[str]) -> tuple[Column, list[Entry]]:
    base = predict_seconds(benchmark, given)
    column = Column("predict_ratio", "Predict, relative", "", None, kind="cost")

    def ratio(record: Record) -> float | None:
        return record.cost.predict_seconds / base if record.cost and base > 0 else None

    return filled(column, benchmark, methods, ratio)


def _choices(benchmark: Benchmark, methods: Sequence[str]) -> tuple[Column, list[Entry]]:
    """Return by what each treatment was chosen, and whether the network as it was is better."""
    cells: list[Entry] = [
        "left as it was" if is_untreated(benchmark, m) else chosen_by(benchmark, m) or "nothing"
        for m in methods
    ]
    return Column("chosen_by", "Chosen by", "", None, kind="diagnostic"), cells
