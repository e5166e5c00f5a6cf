"""The gallery of predictions over a single input, one panel per method."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from bnnbench.engine.records.record import Record
from bnnbench.engine.store.store import Store
from bnnbench.methods.predictions.base import HasMoments
from bnnbench.reports.figures.bands import DEVIATIONS, Band, draw_band, limits
from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.predictions.points import points_of
from bnnbench.reports.read.predictions.readable import prediction_of
from bnnbench.reports.style.palette import Style


@dataclass(frozen=True)
class Panels:
    """One fold's predictions, a drawing per method, and the name of the reference."""

    drawings: tuple[Drawing, ...]
    fold: int
    reference: str | None

    @property
    def explanation(self) -> str:
        """The text above the figures."""
        text = (
            f"Fold {self.fold}, seed 0. Dots are training points, the thin line is the true "
            "function, and the coloured line is each method's predictive mean with a band of "
            f"± {DEVIATIONS} predictive standard deviations."
        )
        if self.reference:
            text += f" Dashed lines bound the band of {self.reference}, the reference."
        return text


def panels(
    store: Store, benchmark: Benchmark, styles: Mapping[str, Style], name: str, where: str
) -> Panels | None:
    """Return the panels of the first fold; None if inputs are not single numbers."""
    fold, begun = first_runs(benchmark)
    runs = {
        method: record for method, record in begun.items() if record.outcome.status == "completed"
    }
    points = points_of(store, next(iter(runs.values()))) if runs else None
    if points is None:
        return None
    bands = {method: band for method, r in runs.items() if (band := band_of(store, r))}
    keys = {record.reference["key"] for record in runs.values() if record.reference}
    truth = next((method for method in bands if runs[method].key in keys), None)
    ylim = limits(points, [bands[truth]] if truth else bands.values())
    drawings = []
    for k, method in enumerate(sorted(bands, key=lambda method: method != truth)):
        reference = bands[truth] if truth and method != truth else None
        caption = "the reference" if method == truth else _distances(runs[method])
        if runs[method].outcome.unconverged:
            caption = ", ".join(filter(None, [caption, "not converged"]))
        drawings.append(
            draw_band(
                *(method, points, bands[method], reference, styles[method]),
                *(f"{name}-fit-{k}", where, ylim, caption),
            )
        )
    return Panels(tuple(drawings), fold, truth) if drawings else None


def first_runs(benchmark: Benchmark) -> tuple[int, dict[str, Record]]:
    """Return the first fold, and method → its run of seed 0."""
    fold = min(record.fold for record in benchmark.records)
    runs = {
        method: record
        for method, records in benchmark.runs.items()
        for record in records
        if (record.fold, record.seed) == (fold, 0)
    }
    return fold, runs


def band_of(store: Store, record: Record) -> Band | None:
    """Return mean and standard deviation on clean data in target units; None if unknown."""
    prediction, _ = prediction_of(store, record, "clean") or (None, None)
    if not isinstance(prediction, HasMoments):
        return None
    target = record.circumstances.target or {"mean": 0.0, "std": 1.0}
    mean, std = (cast(float, target[name]) for name in ("mean", "std"))
    means = mean + std * prediction.mean[:, 0].double()
    return Band(means.numpy(), std * prediction.variance[:, 0].double().sqrt().numpy())


def _distances(record: Record) -> str:
    scores = record.outcome.scores.get("clean", {})
    unit = str((record.circumstances.target or {}).get("unit", ""))
    names = {"wasserstein2": ("W2", unit), "kl_from_reference": ("KL", "nats")}
    return ", ".join(
        f"{name} {scores[metric]:.3g} {unit}".rstrip()
        for metric, (name, unit) in names.items()
        if metric in scores
    )
