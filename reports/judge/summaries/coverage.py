"""Coverage far outside the training inputs: how often intervals contain a known function.

Coverage is computed over the predictions of all seeds of a fold, for problems with one input that
are tested far beyond their training inputs. The values printed in the message passing paper are
shown for comparison.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float

from bnnbench.engine.records.record import Record
from bnnbench.engine.store.data_points import Curve
from bnnbench.engine.store.store import Store
from bnnbench.methods.predictions.base import HasCdf
from bnnbench.metrics.credible import (
    OUTSIDE,
    SIGMA_LEVELS,
    SIGMAS,
    CredibleCoverage,
    credible_coverage,
    sigma_coverage,
)
from bnnbench.reports.papers.published import Published, table
from bnnbench.reports.papers.together import TOGETHER
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.predictions.points import points_of
from bnnbench.reports.read.predictions.readable import prediction_of

WHERE = {"negative": f"x < −{OUTSIDE:g}", "positive": f"x > {OUTSIDE:g}", "both": "both sides"}
NOMINAL = tuple(high - low for low, high in SIGMA_LEVELS)


@dataclass(frozen=True)
class FoldCoverage:
    """Coverage by the networks of one fold, which differ in their seeds."""

    curve: CredibleCoverage
    sigma: Mapping[str, Float[np.ndarray, "3"]]
    """side → coverage of the 1, 2 and 3 sigma intervals"""
    networks: int


@dataclass(frozen=True)
class Covered:
    """The coverage of every method on one data set, with the printed values."""

    benchmark: Benchmark
    folds: Mapping[str, tuple[FoldCoverage, ...]]
    """method → its folds"""

    @cached_property
    def printed(self) -> tuple[Published, ...]:
        """The printed coverages that the suite reproduces."""
        claims = {
            (str(entry.get("paper")), str(entry.get("table")))
            for record in self.benchmark.records
            for entry in record.reproduces
        }
        rows = (row for claim in sorted(claims) for row in table(*claim))
        return tuple(row for row in rows if row.metric in TOGETHER)

    @property
    def departures(self) -> list[str]:
        """The suite's known deviations from the printed protocol."""
        entries = (entry for record in self.benchmark.records for entry in record.reproduces)
        return list(dict.fromkeys(str(text) for e in entries for text in e.get("departures", ())))

    def printed_score(
        self, method: str, metric: str, side: str, interval: str = ""
    ) -> Published | None:
        """Return the printed score of a method, a side and an interval; None if absent."""
        place = {"x": side} | ({"interval": interval} if interval else {})
        for row in self.printed:
            if (row.method, row.metric) == (method.casefold(), metric) and (
                place.items() <= row.protocol.items()
            ):
                return row
        return None

    def printed_sigma(self, method: str, side: str) -> list[float]:
        """Return the printed coverages of the 1, 2 and 3 sigma intervals that exist."""
        scores = (self.printed_score(method, "coverage", side, interval) for interval in SIGMAS)
        return [row.value for row in scores if row]

    @property
    def explanation(self) -> str:
        """The text above the figures and the table."""
        counts = sorted({fold.networks for folds in self.folds.values() for fold in folds})
        span = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        repeats = max(map(len, self.folds.values()))
        drawn = f", averaged over {repeats} data sets" if repeats > 1 else ""
        return (
            f"The share of {span} networks, which differ only in their seed, whose central "
            f"interval contains the true function; the median over x < −{OUTSIDE:g} (dashed) and "
            f"over x > {OUTSIDE:g} (solid){drawn}. As in the paper, intervals contain the "
            "observation noise although the function has none. The 1, 2 and 3σ intervals hold "
            "68, 95 and 99.7 % of the mass. The intervals of a method without a posterior contain "
            "only noise."
        )


def covered(store: Store, benchmarks: Sequence[Benchmark]) -> list[Covered]:
    """Return the coverage on the data sets that are tested far outside, with several seeds."""
    coverages = []
    for benchmark in benchmarks:
        folds = {method: tuple(_folds(store, runs)) for method, runs in benchmark.runs.items()}
        if any(folds.values()):
            coverages.append(Covered(benchmark, {m: f for m, f in folds.items() if f}))
    return coverages


def _folds(store: Store, runs: Sequence[Record]) -> Iterator[FoldCoverage]:
    done = [record for record in runs if record.outcome.status == "completed"]
    for fold in sorted({record.fold for record in done}):
        networks = [record for record in done if record.fold == fold]
        points = _far_points(store, networks[0]) if len(networks) > 1 else None
        if points is None:
            continue
        reached = [cdf for r in networks if (cdf := _cdf_at_truth(store, r, points)) is not None]
        if len(reached) > 1:
            yield _coverage(np.stack(reached), points.test_inputs)


def _coverage(cdf: np.ndarray, position: np.ndarray) -> FoldCoverage:
    sides = {"negative": position < -OUTSIDE, "positive": position > OUTSIDE}
    return FoldCoverage(
        credible_coverage(cdf, position),
        {side: sigma_coverage(cdf, chosen) for side, chosen in sides.items()},
        len(cdf),
    )


def _far_points(store: Store, record: Record) -> Curve | None:
    """Return the points of a problem whose truth is known beyond ±10, else None."""
    points = points_of(store, record)
    if points is None or points.truth is None:
        return None
    far = points.test_inputs.min() < -OUTSIDE and points.test_inputs.max() > OUTSIDE
    return points if far and np.abs(points.train_inputs).max() < OUTSIDE else None


def _cdf_at_truth(store: Store, record: Record, points: Curve) -> np.ndarray | None:
    """Return P(y ≤ truth) at every test input; None if it cannot be read."""
    prediction, _ = prediction_of(store, record, "clean") or (None, None)
    if not isinstance(prediction, HasCdf):
        return None
    assert record.circumstances.target is not None, "a curve is of a real target"
    mean, std = (float(str(record.circumstances.target[name])) for name in ("mean", "std"))
    truth = torch.from_numpy((np.asarray(points.truth) - mean) / std)
    return prediction.cdf(truth[:, None])[:, 0].numpy()
