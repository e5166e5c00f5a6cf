"""How often methods are worse than a prediction that ignores the inputs, or have no result."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bnnbench.metrics.statistics import Samples, mean, replicates
from bnnbench.reports.judge.columns import samples_of, score_under
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.exclusions import is_constant

LIKELIHOODS = {"log_likelihood": 1.0, "nll": -1.0}
"""Metric → the sign that makes higher better; gains are in nats."""
ERRORS = ("crps", "rmse")
"""Metrics for predictions without a likelihood; gains are shares of the constant's score."""


@dataclass(frozen=True)
class Shortfall:
    """The runs of a method on a data set, beside those of the constant."""

    method: str
    where: str
    """Title of the data set."""
    gains: tuple[float, ...]
    """Gain over the constant in each split or, on one split, with each seed; negative if worse, and
    minus infinity for a density of 0."""
    diverged: int
    failed: int
    """Number of runs that ended with an error, or at a limit of time or memory."""
    metric: str = ""

    @property
    def below(self) -> int:
        """The number of gains that are negative."""
        return sum(gain < 0 for gain in self.gains)

    @property
    def worst(self) -> float:
        """The smallest gain, NaN without any."""
        return min(self.gains, default=float("nan"))

    @property
    def is_below(self) -> bool:
        """True if the mean gain is negative."""
        return bool(self.gains) and mean(self.gains) < 0

    @property
    def falls_short(self) -> bool:
        """True if some run diverged, failed or is worse than the constant."""
        return bool(self.below or self.diverged or self.failed)


def gains_over(ours: Samples, constant: Samples, by_fold: bool) -> tuple[float, ...]:
    """Return the gains in common runs: one for each fold, the mean of its seeds, or each seed.

    Higher scores are better.
    """
    common = sorted(ours.keys() & constant.keys())
    return tuple(replicates({run: ours[run] - constant[run] for run in common}, by_fold))


def shortfalls(benchmark: Benchmark, methods: Sequence[str]) -> Iterator[Shortfall]:
    """Yield the shortfall of each method with runs, without constants."""
    constants = [m for m, runs in benchmark.runs.items() if is_constant(runs)]
    for method in methods:
        if method in benchmark.runs and method not in constants:
            metric, gains = _gains(benchmark, method, constants)
            ends = [run.outcome.status for run in benchmark.runs[method]]
            counts = ends.count("diverged"), ends.count("failed")
            yield Shortfall(method, benchmark.title, gains, *counts, metric)


def _gains(
    benchmark: Benchmark, method: str, constants: Sequence[str]
) -> tuple[str, tuple[float, ...]]:
    """Return the first metric that the method and a constant have, and the gains by it."""
    for metric in (*LIKELIHOODS, *ERRORS) if constants else ():
        value = score_under(benchmark.main, metric)
        ours, constant = (samples_of(benchmark.runs[m], value) for m in (method, constants[0]))
        if metric in ERRORS:
            shares = {run: -ours[run] / constant[run] for run in ours if constant.get(run)}
            ours, constant = shares, dict.fromkeys(shares, -1.0)
        sign = LIKELIHOODS.get(metric, 1.0)
        ours, constant = ({run: sign * v for run, v in of.items()} for of in (ours, constant))
        if gains := gains_over(ours, constant, benchmark.by_fold):
            return metric, gains
    return "", ()
