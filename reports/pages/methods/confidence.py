"""Tests for overconfident predictions, and for predictions worse than a constant, from records."""

from collections.abc import Mapping
from dataclasses import dataclass

from bnnbench.metrics.catalogue.entries import ONE_PERCENT_LIKELIER, ONE_POINT
from bnnbench.metrics.statistics import Samples, mean, replicates
from bnnbench.reports.judge.columns import samples_of, score_under
from bnnbench.reports.judge.statistics.intervals import Interval, t_interval
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.exclusions import is_constant
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import significant

LIKELIHOODS: Mapping[str, float] = {"log_likelihood": 1.0, "nll": -1.0}
"""Metric → the sign that makes higher better."""

COVERAGE, SHARE = "picp_90", 0.9
"""The metric of the coverage of central intervals, and their nominal coverage."""


@dataclass(frozen=True)
class Told:
    """Observed and predicted coverage, or loss, of the runs of a method on a data set."""

    gap: float
    """Less than 0 if the method is overconfident, or worse than the constant."""
    shown: bool
    """True if its 95 % interval lies beyond practical equality."""
    text: str
    """The numbers as text."""


def below_constant(benchmark: Benchmark, method: str) -> Told | None:
    """Return the gain in log likelihood over a prediction that ignores the inputs.

    None if there is no such prediction, or no common run.
    """
    constants = [m for m, runs in benchmark.runs.items() if is_constant(runs)]
    if not constants or method in constants:
        return None
    for metric, sign in LIKELIHOODS.items():
        ours, theirs = (scores(benchmark, m, metric) for m in (method, constants[0]))
        common = sorted(ours.keys() & theirs.keys())
        interval = interval_of(benchmark, {k: sign * (ours[k] - theirs[k]) for k in common})
        if interval is not None:
            ours_mean, other = (significant(mean([of[k] for k in common])) for of in (ours, theirs))
            text = f"{labels.in_text(metric)} {ours_mean}; {constants[0]} has {other}"
            return Told(interval.mean, interval.high < 0, text)
    return None


def confidence(benchmark: Benchmark, method: str) -> Told | None:
    """Return the gap between confidence and accuracy of a method; None if no score shows it.

    Central intervals should contain their nominal share of real targets. The log loss of classes
    has the entropy of the predicted probabilities as its expectation if these are right.
    """
    held = interval_of(benchmark, scores(benchmark, method, COVERAGE))
    if held is not None:
        beyond = abs(held.mean - SHARE) - held.half_width > ONE_POINT.size
        text = f"its {100 * SHARE:g} % intervals hold {significant(100 * held.mean)} % of targets"
        return Told(held.mean - SHARE, beyond, text)
    expected = scores(benchmark, method, "entropy")
    for metric, sign in LIKELIHOODS.items():
        gains = scores(benchmark, method, metric)
        common = sorted(gains.keys() & expected.keys())
        gap = interval_of(benchmark, {k: sign * gains[k] + expected[k] for k in common})
        if gap is not None:
            beyond = abs(gap.mean) - gap.half_width > ONE_PERCENT_LIKELIER.size
            loss = mean([-sign * gains[k] for k in common])
            stated = mean([expected[k] for k in common])
            text = (
                f"log loss {significant(loss)} nats, by its own probabilities expected "
                f"{significant(stated)}"
            )
            return Told(gap.mean, beyond, text)
    return None


def scores(benchmark: Benchmark, method: str, metric: str) -> Samples:
    """Return run → score under the main condition."""
    return samples_of(benchmark.runs[method], score_under(benchmark.main, metric))


def interval_of(benchmark: Benchmark, samples: Samples) -> Interval | None:
    """Return the interval of a mean over runs, as in tables; None for fewer than two."""
    return t_interval(replicates(samples, benchmark.by_fold), benchmark.overlap or 0.0)
