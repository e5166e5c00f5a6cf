"""The time of a fit, relative to a fit of AdamW or of the cheapest method."""

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.devices import (
    comparable_times,
    mean_fit_seconds,
)
from bnnbench.reports.read.exclusions import is_constant
from bnnbench.reports.style.numbers import duration

BASE = "AdamW"

BUSY = 0.2
"""Share of the machine's processors up to which other work is not mentioned."""


@dataclass(frozen=True)
class Costs:
    """Mean fit seconds of the methods over data sets, and their ratios to the base's."""

    base: str
    ratios: Mapping[str, float]
    """method → geometric mean of its ratios to the base, over the data sets that both have"""
    fits: Mapping[str, float]
    """method → mean seconds of a fit over those data sets"""
    of_processors: bool = False
    """True if the seconds are processor time, available for all fits; else wall time."""
    base_fits: Mapping[str, float] = field(default_factory=dict)
    """method → mean seconds of a fit of the base over the same data sets"""

    @property
    def base_is_cheapest(self) -> bool:
        """True if no method that trains is cheaper than the base."""
        return min(self.ratios.values()) >= 1

    def seconds(self, method: str) -> str:
        """Return the fit time as text."""
        return duration(self.fits[method]) + (" of processor time" if self.of_processors else "")

    def times(self, method: str) -> str:
        """Return the ratio as text: "2.3 times the fit time"."""
        ratio = self.ratios[method]
        text = f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"
        return "the fit time" if text == "1" else f"{text} times the fit time"


def costs(benchmarks: Sequence[Benchmark]) -> Costs | None:
    """Return the costs of fits, without constants; None if no cost was recorded.

    Fits on a GPU are left out if others ran on processors.
    """
    of_processors, apart = comparable_times(r for b in benchmarks for r in b.records)
    by_set = [_fit_seconds(b, of_processors, apart) for b in benchmarks]
    methods = list(dict.fromkeys(m for seconds in by_set for m in seconds))
    if not methods:
        return None
    counts = {m: sum(m in seconds for seconds in by_set) for m in methods}
    everywhere = [m for m in methods if counts[m] == max(counts.values())]
    mean = {m: _geometric([seconds[m] for seconds in by_set if m in seconds]) for m in everywhere}
    base = BASE if BASE in methods else min(everywhere, key=lambda m: mean[m])
    shared = {
        m: [seconds for seconds in by_set if m in seconds and base in seconds] for m in methods
    }
    shared = {m: sets for m, sets in shared.items() if sets}
    return Costs(
        base,
        {
            m: _geometric([seconds[m] / seconds[base] for seconds in sets])
            for m, sets in shared.items()
        },
        {m: sum(seconds[m] for seconds in sets) / len(sets) for m, sets in shared.items()},
        of_processors,
        {m: sum(seconds[base] for seconds in sets) / len(sets) for m, sets in shared.items()},
    )


def load_in_words(benchmarks: Sequence[Benchmark]) -> str:
    """Return a sentence on fits on a machine busy with other work; "" if none is known."""
    shares = [
        record.cost.busy_elsewhere
        for benchmark in benchmarks
        for record in benchmark.records
        if record.cost and record.cost.busy_elsewhere is not None
    ]
    busy = [share for share in shares if share > BUSY]
    if not busy:
        return ""
    return (
        f"During {len(busy)} of {len(shares)} timed fits, other work took more than {BUSY:.0%} of "
        f"the machine's processors (at most {max(busy):.0%}), other fits of the same command "
        "included: this affects wall time, but hardly processor time."
    )


def _fit_seconds(
    benchmark: Benchmark, of_processors: bool, apart: Container[str]
) -> dict[str, float]:
    seconds = {
        method: mean_fit_seconds(runs, of_processors, apart)
        for method, runs in benchmark.runs.items()
        if not is_constant(runs)
    }
    return {method: mean for method, mean in seconds.items() if mean is not None}


def _geometric(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))
