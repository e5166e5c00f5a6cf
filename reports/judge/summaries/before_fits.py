"""What is known before the test rows are seen: facts of a table, and scores of searches."""

from collections.abc import Mapping, Sequence

import numpy as np

from bnnbench.engine.records.record import Record
from bnnbench.reports.judge.summaries.tuning import choices
from bnnbench.reports.read.benchmarks import Benchmark


def held_out_scores(records: Sequence[Record]) -> tuple[float, ...]:
    """Return the mean log likelihood of each held-out block of rows under the chosen settings.

    Blocks are the same for every method that holds out as many, and the first ones for one that
    holds out fewer. Seeds are averaged; () without a search.
    """
    of_runs = []
    for choice in choices(records):
        search, trial = choice.search, choice.trial
        of_runs.append(search.log_likelihood[trial, search.best_lengths[trial]])
    return tuple(map(float, np.mean(of_runs, axis=0))) if of_runs else ()


def table_facts(benchmark: Benchmark) -> Mapping[str, float]:
    """Return the facts of a table on which a rule may split."""
    of = benchmark.records[0].circumstances.facts
    rows, columns, classes = (of.get(n) for n in ("train_rows", "features", "classes"))
    counts = of.get("class_counts_train")
    facts: dict[str, float] = {}
    if isinstance(rows, int) and isinstance(columns, int) and rows and columns:
        facts |= {"rows": float(rows), "columns": float(columns), "rows a column": rows / columns}
    if isinstance(classes, int):
        facts["classes"] = float(classes)
    if isinstance(counts, Sequence) and sum(counts):
        facts["share of the largest class"] = max(counts) / sum(counts)
    return facts
