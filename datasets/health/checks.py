"""All health checks of a collected table, as one line of plain values."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from bnnbench.datasets.health.contents import (
    autocorrelation,
    closest_part,
    constant_columns,
    numbering_columns,
    share_of_one_value,
    twins_in,
)
from bnnbench.datasets.health.pilots import (
    SPLITS,
    SPLITS_OF_COLUMNS,
    column_hits,
    fits,
    limited,
)
from bnnbench.datasets.official.collected.splitting import split
from bnnbench.datasets.official.collected.table import CollectedTable
from bnnbench.datasets.own.preparation import prepare


@dataclass(frozen=True)
class Health:
    """The results of all checks of one table; scores are means over ten splits by unit."""

    name: str
    distinct: int
    """The number of different inputs."""
    twin_rows: int
    conflicts: int
    """The number of twins whose targets differ."""
    units: int
    """The number of units that splits do not divide."""
    share_of_one_value: float
    smallest_class: int
    constant: tuple[str, ...]
    """The constant columns, of all."""
    numbering: tuple[str, ...]
    """The columns that count the rows."""
    lag_1: float
    """The correlation of neighbouring targets, in the order of the file."""
    part: str
    part_square: float
    """The squared correlation of the closest column, sum or difference of two; 0 for classes."""
    column: str
    column_hits: float
    """R2 or accuracy of a tree on the best single column, over three splits."""
    loss_constant: float
    loss_linear: float
    loss_boosting: float
    """Root mean squared error, or log loss in nats."""
    hits_linear: float
    hits_boosting: float
    """R2, or accuracy."""
    hits_by_row: float
    """The same of boosting if splits divide units, over three splits; else as `hits_boosting`."""
    gain: float
    """How much smaller the loss of the better simple model is than the constant's."""
    gain_error: float
    """Its standard error over splits."""
    wins: int
    """The number of splits, of ten, in which it is smaller."""
    cpu_seconds: float

    @property
    def better(self) -> str:
        """The simple model with the smaller loss."""
        return "linear" if self.loss_linear < self.loss_boosting else "boosting"

    @property
    def easiest(self) -> str:
        """The simple model with the larger R2 or accuracy."""
        return "linear" if self.hits_linear > self.hits_boosting else "boosting"

    @property
    def hits(self) -> float:
        """R2 or accuracy of the easiest."""
        return max(self.hits_linear, self.hits_boosting)


def health_of(table: CollectedTable) -> Health:
    """Return the health of a table; its simple models take seconds to a minute."""
    start = time.process_time()
    facts = {**_of_rows(table), **_of_models(table)}
    return Health(table.name, **facts, cpu_seconds=time.process_time() - start)


def _of_rows(table: CollectedTable) -> dict[str, Any]:
    features, targets, frame = table.features(), table.targets(), table.frame()
    twins, part = twins_in(features, targets), ("", 0.0)
    if not table.classes:
        preparation = prepare(features)
        part = closest_part(preparation.inputs(features), preparation.names, targets)
    return {
        "distinct": twins.distinct,
        "twin_rows": twins.rows,
        "conflicts": twins.conflicts,
        "units": len(np.unique(table.units())),
        "share_of_one_value": share_of_one_value(targets),
        "smallest_class": int(np.bincount(targets.astype(int)).min()) if table.classes else 0,
        "constant": constant_columns(frame),
        "numbering": numbering_columns(frame.drop(columns=table.entry.column)),
        "lag_1": autocorrelation(targets),
        "part": part[0],
        "part_square": part[1],
    }


def _of_models(table: CollectedTable) -> dict[str, Any]:
    cuts = [limited(table.cut(*table.split(number))) for number in range(SPLITS)]
    scores = [fits(cut) for cut in cuts]
    loss, hits = (
        {name: np.array([getattr(of[name], kind) for of in scores]) for name in scores[0]}
        for kind in ("loss", "hits")
    )
    better = min(("linear", "boosting"), key=lambda name: float(loss[name].mean()))
    gains = loss["constant"] - loss[better]
    columns = np.mean([column_hits(cut) for cut in cuts[:SPLITS_OF_COLUMNS]], axis=0)
    return {
        "column": cuts[0].names[int(columns.argmax())],
        "column_hits": float(columns.max()),
        **{f"loss_{name}": float(of.mean()) for name, of in loss.items()},
        "hits_linear": float(hits["linear"].mean()),
        "hits_boosting": float(hits["boosting"].mean()),
        "hits_by_row": _hits_by_row(table) if table.entry.split_by else hits["boosting"].mean(),
        "gain": float(gains.mean()),
        "gain_error": float(gains.std(ddof=1) / np.sqrt(SPLITS)),
        "wins": int((gains > 0).sum()),
    }


def _hits_by_row(table: CollectedTable) -> float:
    """Return R2 or accuracy of boosting over splits that divide units."""
    rows = np.arange(table.entry.rows)
    cuts = (split(rows, None, table.name, number) for number in range(SPLITS_OF_COLUMNS))
    return float(np.mean([fits(limited(table.cut(*cut)))["boosting"].hits for cut in cuts]))
