"""Our methods compared with the best published results on the same folds, fold by fold."""

from collections.abc import Iterator, Sequence
from statistics import mean

from bnnbench.engine.records.record import Record
from bnnbench.metrics import METRICS
from bnnbench.reports.judge.statistics.intervals import Interval, standard_error, t_interval
from bnnbench.reports.papers.literature import SOURCES, Source
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.overlap import overlap_of
from bnnbench.reports.sections.base import Choice, Listing, Material, Section, where_of
from bnnbench.reports.style import labels

HEADINGS = ("Method", "Metric", "Ours", "Theirs", "Ours less theirs", "Folds", "Ours is")
SUITE = "uci"
SCORES = ("log_likelihood", "rmse")
"""The scores that are published for every fold."""
FEWEST_FOLDS = 2


def sections(material: Material) -> Iterator[Section]:
    """Yield a section on the data sets for whose folds scores are published."""
    choices, used = [], []
    for benchmark in material.benchmarks:
        for source in SOURCES:
            if rows := comparison(benchmark, source, material.methods):
                where = where_of(benchmark, benchmark.origin)
                listing = Listing(
                    f"{where}: ours and {source.name}", where, HEADINGS, tuple(rows), (0, 1, 6)
                )
                choices.append(Choice(by="set", name=where, listing=listing))
                used.append(source)
    if choices:
        yield Section("Beside the literature", note(used), choices=tuple(choices), last=True)


def note(used: Sequence[Source]) -> str:
    """Return the description of the sources and of the tests of differences."""
    about = " ".join(
        f"{source.name}: {source.publication} ({source.repository}); {source.settings}."
        for source in dict.fromkeys(used)
    )
    return (
        f"Published scores of every fold, next to ours on the same folds. {about} Differences are "
        "means over folds with 95 % intervals that allow for the overlap of training sets; a "
        "verdict is given if the interval does not contain 0."
    )


def comparison(
    benchmark: Benchmark,
    source: Source,
    methods: Sequence[str],
    metrics: Sequence[str] = SCORES,
) -> list[tuple[str, ...]]:
    """Return a row for each method and metric, the greatest lead over the source first."""
    if benchmark.origin not in source.origins or not _is_ours(benchmark):
        return []
    rows: list[tuple[float, tuple[str, ...]]] = []
    for metric in metrics:
        theirs = source.scores.get((benchmark.dataset, metric), {})
        sign = 1 if METRICS[metric].higher_is_better else -1
        by_lead = []
        for method in methods:
            runs = benchmark.runs.get(method, ())
            ours = fold_means(runs, benchmark.main, metric)
            folds = sorted(ours.keys() & theirs.keys())
            if len(folds) < FEWEST_FOLDS:
                continue
            gaps = [ours[fold] - theirs[fold] for fold in folds]
            interval = t_interval(gaps, overlap_of(runs) or 0.0)
            cells = (
                *(method, labels.metric(metric)),
                *(_mean([scores[fold] for fold in folds]) for scores in (ours, theirs)),
                *(difference(interval), str(len(folds)), verdict(interval, sign)),
            )
            by_lead.append((-sign * mean(gaps), cells))
        rows += sorted(by_lead)
    return [cells for _, cells in rows]


def fold_means(runs: Sequence[Record], condition: str, metric: str) -> dict[int, float]:
    """Return fold → mean score over seeds, for folds whose runs are all complete."""
    scores: dict[int, list[float | None]] = {}
    for run in runs:
        done = run.outcome.scores.get(condition, {}) if run.outcome.status == "completed" else {}
        scores.setdefault(run.fold, []).append(done.get(metric))
    whole = {fold: [s for s in of_fold if s is not None] for fold, of_fold in scores.items()}
    return {fold: mean(of) for fold, of in whole.items() if len(of) == len(scores[fold])}


def verdict(interval: Interval | None, sign: int) -> str:
    """Return "better", "worse" or "undecided"; "" if there is no interval."""
    if interval is None:
        return ""
    if interval.low <= 0 <= interval.high:
        return "undecided"
    return "better" if sign * interval.mean > 0 else "worse"


def _is_ours(benchmark: Benchmark) -> bool:
    """Return whether the folds are the suite's unmodified folds."""
    sources = [record.run.get("source") for record in benchmark.records[:1]]
    return all(isinstance(source, dict) and source.get("type") == SUITE for source in sources)


def _mean(values: Sequence[float]) -> str:
    error = standard_error(values)
    return f"{mean(values):.3f}" + ("" if error is None else f" ± {error:.3f}")


def difference(interval: Interval | None) -> str:
    """Return the mean with half of its interval; "" if there is no interval."""
    return "" if interval is None else f"{interval.mean:+.3f} ± {interval.half_width:.3f}"
