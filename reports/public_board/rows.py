"""Finished runs as rows of the board: one for each model, data set and fold."""

import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bnnbench.datasets.cuts.shuffled_folds import ShuffledFolds
from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.packing import NotImported
from bnnbench.engine.store.store import CorruptRecord, Store
from bnnbench.estimators.scoringbench_names import DATASETS, model_name
from bnnbench.reports.public_board.names import IDENTITY, TIMES

PROTOCOL = {name: field.default for name, field in ShuffledFolds.__dataclass_fields__.items()}


def by_the_protocol(record: Record) -> bool:
    """Return whether a run has the board's folds and caps, and one of its data sets."""
    source = record.run.get("source")
    if not isinstance(source, Mapping) or source.get("type") != "shuffled_folds":
        return False
    stated = all(source.get(name) == PROTOCOL[name] for name in ("count", "seed", "most_rows"))
    return stated and record.dataset in DATASETS and record.circumstances.origin == "original"


def rows_of(store: Store, records: Iterable[Record]) -> pd.DataFrame:
    """Return the rows of the runs that follow the protocol, means over seeds.

    A run that failed or diverged has its error in place of scores, as there. Raises ValueError for
    predictions that are missing, damaged or of a class that is not imported, and if no run follows
    the protocol.
    """
    chosen = [record for record in records if by_the_protocol(record)]
    if not chosen:
        raise ValueError(
            "no run has the board's folds: run `bnnbench uci --profile scoringbench` on the "
            "original files first"
        )
    table = pd.DataFrame([_row(store, record) for record in chosen])
    return pd.DataFrame(list(_over_seeds(table)))


def write_models(table: pd.DataFrame, folder: Path) -> list[Path]:
    """Write one parquet file for each model; raises ImportError without pyarrow."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for model, rows in table.groupby("model", sort=True):
        buffer = io.BytesIO()
        ordered = rows.sort_values(["dataset", "fold"]).dropna(axis=1, how="all")
        ordered.to_parquet(buffer, engine="pyarrow", index=False)
        paths.append(folder / f"{model}.parquet")
        write_whole(paths[-1], buffer.getvalue())
    return paths


def _row(store: Store, record: Record) -> dict[str, Any]:
    place = (model_name(record.method), DATASETS[record.dataset], record.fold)
    row: dict[str, Any] = dict(zip(IDENTITY, place, strict=True))
    if record.outcome.status != "completed":
        return row | {"error": record.outcome.last_line, "error_type": record.outcome.status}
    if record.cost is not None:
        fit, predict = record.cost.fit_seconds, record.cost.predict_seconds
        row |= dict(zip(TIMES, (fit, predict, fit + predict), strict=True))
    return row | _scores(store, record)


def _scores(store: Store, record: Record) -> dict[str, float | None]:
    from bnnbench.engine.run.score import rescaled  # here, so that reading needs no torch
    from bnnbench.reports.public_board.columns import columns_of

    try:
        prediction, targets = store.predictions(record.key)["clean"]
    except (CorruptRecord, NotImported, KeyError) as error:
        raise ValueError(
            f"{record.method} on {record.dataset}, fold {record.fold}: its predictions, from which "
            f"the columns are computed, cannot be read: {error}"
        ) from error
    assert record.circumstances.target is not None, "the data sets of the board have real targets"
    mean, std = (float(record.circumstances.target[name]) for name in ("mean", "std"))
    return columns_of(rescaled(prediction, mean, std), mean + std * targets.double())


def _over_seeds(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield a row for each fold: the mean over seeds, or the first error."""
    scores = [name for name in table if name not in (*IDENTITY, "error", "error_type")]
    for places in table.groupby(list(IDENTITY)).indices.values():
        rows = table.iloc[places]
        failed = rows.loc[rows["error"].notna()] if "error" in rows else rows.iloc[:0]
        if len(failed):
            yield failed.iloc[0].dropna().to_dict()
            continue
        place = {name: rows[name].iloc[0] for name in IDENTITY}
        yield place | {str(name): float(rows[name].astype(float).mean()) for name in scores}
