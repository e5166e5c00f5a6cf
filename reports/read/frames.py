"""The scores and costs of stored runs as pandas tables; torch is not imported."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pandas as pd

from bnnbench.engine.records.record import Record
from bnnbench.engine.store.store import Store
from bnnbench.engine.store.tables import (
    COST_COLUMNS,
    COSTS,
    METRIC_COLUMNS,
    Row,
    cost_rows,
    metric_rows,
)
from bnnbench.reports.read.bundles import bundle_folders, holds_bundle
from bnnbench.reports.read.load import suite_folders
from bnnbench.reports.read.table_cache import cached


def results(folder: str | Path) -> pd.DataFrame:
    """Return one row per score of the runs in a suite's folder, a folder of several, or a bundle.

    Columns: suite, profile, dataset, origin (of the scored data), condition, method, seed, fold,
    metric, value, unit and the run's key. If runs have the same names but different settings, the
    one last requested by a command counts. Diverged and failed runs have no score; `costs` has
    their status. Raises ValueError for a folder without results, and `CorruptRecord`, with the
    remedy, for an unreadable record.
    """
    return _table(Path(folder), scores_of)


def scores_of(records: Sequence[Record]) -> pd.DataFrame:
    """Return the table of `results` for given records."""
    return _frame(records, METRIC_COLUMNS, metric_rows)


def costs(folder: str | Path) -> pd.DataFrame:
    """Return one row per run whose cost is known, for the same runs as `results`.

    Columns: suite, profile, dataset, origin, method, seed, fold, status, fit_seconds,
    compile_seconds (before the fit), predict_seconds, peak_bytes, fitted_together, fit_joules,
    fit_cpu_seconds, busy_elsewhere, predict_cpu_seconds, the units of work that methods count
    (`methods.fitting.work.UNITS`; all NaN if unknown), device, cpu, cpu_model (the exact processor;
    "" in earlier records) and the run's key.
    """
    return _table(Path(folder), costs_of)


def costs_of(records: Sequence[Record]) -> pd.DataFrame:
    """Return the table of `costs` for given records."""
    table = _frame(records, COST_COLUMNS, cost_rows)
    return table.assign(**{name: pd.to_numeric(table[name]) for name in COSTS})


def _table(path: Path, table_of: Callable[[Sequence[Record]], pd.DataFrame]) -> pd.DataFrame:
    if not holds_bundle(path):
        return table_of([r for folder in suite_folders(path) for r in Store(folder).current()])
    tables = [cached(folder, table_of) for folder in bundle_folders(path)]
    if len(tables) == 1:
        return tables[0]
    whole = pd.concat(tables)
    return whole.sort_values(list(whole.columns), ignore_index=True)


def _frame(
    records: Sequence[Record],
    columns: tuple[str, ...],
    rows: Callable[[Iterable[Record]], list[Row]],
) -> pd.DataFrame:
    entries = sorted((*row, record.key) for record in records for row in rows([record]))
    return pd.DataFrame(entries, columns=[*columns, "key"])
