"""Stored predictions as a pandas table, one test row of a run per row."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from torch import Tensor

from bnnbench.engine.records.record import Record
from bnnbench.engine.run.score import rescaled
from bnnbench.methods.predictions.base import (
    CannotAnswer,
    HasCdf,
    HasLogProb,
    HasMean,
    HasProbabilities,
    HasVariance,
)
from bnnbench.reports.read.bundles import results_of
from bnnbench.reports.read.predictions.readable import predictions_of

RUN = ("suite", "profile", "dataset", "method", "seed", "fold")


def predictions(
    folder: str | Path, datasets: Collection[str] = (), methods: Collection[str] = ()
) -> pd.DataFrame:
    """Return one row per test row and run, of a suite's folder, a folder of several, or a bundle.

    Columns: suite, profile, dataset, method, seed, fold, condition, row, target, log_score (the log
    density or probability of the target, in nats) and the run's key; for a real target also mean,
    std and cdf, the probability of a value up to the target, all in its unit; for classes their
    probabilities p0, p1, .... A method that does not state one of these has NaN. Predictions in a
    bundle are rounded. `datasets` and `methods` name some, by default all. Raises ValueError if
    there are no predictions of one real target or of classes.
    """
    frames = [
        frame
        for results in results_of(Path(folder)).values()
        for record in results.records
        if (not datasets or record.dataset in datasets)
        and (not methods or record.method in methods)
        for condition, held in (predictions_of(results.store, record) or {}).items()
        for frame in _frames(record, condition, *held)
    ]
    if not frames:
        raise ValueError(f"{folder} has no predictions of these runs")
    return pd.concat(frames, ignore_index=True)


def _frames(
    record: Record, condition: str, prediction: Any, targets: Tensor
) -> Iterator[pd.DataFrame]:
    """Yield the table of one run's predictions under a condition, unless it has several outputs."""
    try:
        if not targets.is_floating_point():
            columns = dict(_of_classes(prediction, targets))
        elif targets.shape[1:] == (1,):
            columns = dict(_of_reals(prediction, targets, record.circumstances.target))
        else:
            return
    except CannotAnswer:  # it has no form in the target's unit
        return
    run = {name: getattr(record, name) for name in RUN} | {"condition": condition}
    rows = {"row": range(len(targets))}
    yield pd.DataFrame(run | rows | columns | {"key": record.key})


def _of_classes(prediction: Any, targets: Tensor) -> Iterator[tuple[str, Any]]:
    yield "target", targets.numpy()
    if isinstance(prediction, HasProbabilities):
        yield "log_score", prediction.log_prob(targets).numpy()
        for k, column in enumerate(prediction.mixture_log_probs.exp().unbind(1)):
            yield f"p{k}", column.numpy()


def _of_reals(prediction: Any, targets: Tensor, scale: Any) -> Iterator[tuple[str, Any]]:
    targets = targets.double()
    if scale:
        mean, std = float(scale["mean"]), float(scale["std"])
        prediction, targets = rescaled(prediction, mean, std), mean + std * targets
    yield "target", targets[:, 0].numpy()
    if isinstance(prediction, HasLogProb):
        yield "log_score", prediction.log_prob(targets).numpy()
    if isinstance(prediction, HasMean):
        yield "mean", prediction.mean[:, 0].numpy()
    if isinstance(prediction, HasVariance):
        yield "std", prediction.variance[:, 0].sqrt().numpy()
    if isinstance(prediction, HasCdf):
        yield "cdf", prediction.cdf(targets)[:, 0].numpy()
