"""The methods that are no networks: shown for scale, and named where they are ahead."""

from collections.abc import Sequence

from bnnbench.reports.judge.measures import Judged, judged
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style.words import joined, quoted

MOST_NAMES = 4


def yardsticks(benchmarks: Sequence[Benchmark], results: Sequence[Judged]) -> str:
    """Return the sentence on the methods that may not take the headline; "" if there are none.

    On a single data set it says by which metrics some of them are ahead of every network.
    """
    names = dict.fromkeys(m for b in benchmarks for m in b.runs if m not in b.in_headlines.runs)
    if not names:
        return ""
    listed, many = joined([quoted(m) for m in names], MOST_NAMES), len(names) > 1
    text = f"{listed} {'are no networks' if many else 'is no network'} and shown for scale"
    if len(benchmarks) > 1:
        return f"{text}."
    ahead: dict[str, list[str]] = {}
    for result in results:
        if first := _ahead(benchmarks[0], result):
            ahead.setdefault(first, []).append(result.name)
    better = (
        f"by {joined(metrics)}, {quoted(m) if many else 'it'} has a better mean than any network"
        for m, metrics in ahead.items()
    )
    asked = " (--with-yardsticks lets it take the headline)" if ahead else ""
    return f"{'; '.join([text, *better])}{asked}."


def _ahead(benchmark: Benchmark, result: Judged) -> str:
    """Return the yardstick with the best mean, if that is better than every network's; else ""."""
    everyone, sign = judged(benchmark, result.metric), -1.0 if result.column.higher_is_better else 1
    cells = everyone.cells if everyone else {}
    means = {m: sign * c.mean for m, c in cells.items() if c.standing.excluded is None}
    first = min(means, key=lambda m: means[m], default="")
    return "" if first in benchmark.in_headlines.runs else first
