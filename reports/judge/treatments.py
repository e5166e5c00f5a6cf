"""The decision on treatments of a trained network: one that is worth its cost.

It is the treatment that is cheapest in prediction among those that the tests do not tell apart from
the best; of several that cost about as much, it is the best. One whose prior precision maximises
the evidence is not named if one that was chosen by calibration rows is better: the evidence of a
network that fits its training rows closely is misleading.
"""

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any

from bnnbench.engine.declare.names import names_in
from bnnbench.engine.records.record import Record
from bnnbench.reports.judge.measures import Judged
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style.numbers import duration, number
from bnnbench.reports.style.words import quoted

GIVEN = "given"
"""Registered name of the trained network as it is."""
VARIANCES = "mean_and_log_variance"
"""Registered name of the last layer of a network that gives variances."""
CHOOSERS = frozenset({"tempered", "rescaled", "conformal", "tuned", "guarded"})
"""Registered names of methods that choose by calibration rows."""
EVIDENCE, CALIBRATION, SEEN_ROWS = "evidence", "calibration rows", "training rows *"
SEEN = "train"
"""Name of the training rows in place of calibration rows."""
EXCLUDED = ("worse", "not eligible")
ALIKE, NEGLIGIBLE = 2.0, 0.1
"""Predictions cost as much as the cheapest up to this factor, and this number of seconds."""


def treatment_decision(result: Judged) -> str:
    """Return the sentence that names a treatment, its gain and its costs; "" without a network."""
    benchmark = result.benchmark
    given = given_network(benchmark)
    if given is None or given not in result.cells:
        return ""
    states = {m: result.decision.standings[m].state for m in result.cells}
    rivals = [m for m in result.cells if states[m] not in EXCLUDED and not _outdone(result, m)]
    if given in rivals or not rivals:
        return f"Leave the network as it is: no treatment is better by {result.name}."
    least = min(predict_seconds(benchmark, method) for method in rivals)
    cheap = [m for m in rivals if predict_seconds(benchmark, m) <= ALIKE * least + NEGLIGIBLE]
    return _sentence(result, max(cheap, key=lambda m: _merit(result, m)), given)


def given_network(benchmark: Benchmark) -> str | None:
    """Return the label of the trained network as it is; None without one."""
    kinds = {method: method_of(runs[0]).get("type") for method, runs in benchmark.runs.items()}
    return next((method for method, kind in kinds.items() if kind == GIVEN), None)


def chosen_by(benchmark: Benchmark, method: str) -> str:
    """Return by what a treatment's settings were chosen; "" if nothing was."""
    first = benchmark.runs[method][0]
    described = method_of(first)
    network = first.run.get("architecture")
    layers = names_in(network)
    has_noise = first.circumstances.target is not None and VARIANCES not in layers
    if (described.get("type") == GIVEN and has_noise) or names_in(described) & CHOOSERS:
        return SEEN_ROWS if by_seen_rows(benchmark) else CALIBRATION
    return EVIDENCE if any(map(_maximises_evidence, _parts(described))) else ""


def by_seen_rows(benchmark: Benchmark) -> bool:
    """Return whether calibration rows are training rows, which the network has seen."""
    source = benchmark.records[0].run.get("source")
    return isinstance(source, Mapping) and source.get("calibration") == SEEN


def is_untreated(benchmark: Benchmark, method: str) -> bool:
    """Return whether a guard left the network as it was, in any run."""
    return any(r.outcome.diagnostics.get("untreated") for r in _completed(benchmark, method))


def predict_seconds(benchmark: Benchmark, method: str) -> float:
    """Return the mean seconds of a run's predictions; infinity if unknown."""
    costs = [r.cost.predict_seconds for r in _completed(benchmark, method) if r.cost]
    return fmean(costs) if costs else float("inf")


def method_of(record: Record) -> Mapping[str, Any]:
    """Return the description of a run's method; empty without one."""
    described = record.run.get("method")
    return described if isinstance(described, Mapping) else {}


def _sentence(result: Judged, named: str, given: str) -> str:
    benchmark, column = result.benchmark, result.column
    after, before = (
        number(result.cells[m].mean * column.scale, column.decimals) for m in (named, given)
    )
    fit = fmean(r.cost.fit_seconds for r in _completed(benchmark, named) if r.cost)
    times = predict_seconds(benchmark, named) / predict_seconds(benchmark, given)
    doubt = ", chosen by rows that the network has seen," if by_seen_rows(benchmark) else ""
    return (
        f"Take {quoted(named)}{doubt}: {result.name} {after}, against {before} of the given "
        f"network, for a fit of {duration(fit)} and predictions that take {times:.2g} times as "
        "long."
    )


def _outdone(result: Judged, method: str) -> bool:
    """Return whether the evidence chose a treatment, and one chosen by other rows is better."""
    choices = {m: chosen_by(result.benchmark, m) for m in result.cells}
    chosen = [m for m, by in choices.items() if by not in ("", EVIDENCE)]
    better = any(_merit(result, m) > _merit(result, method) for m in chosen)
    return choices[method] == EVIDENCE and better


def _merit(result: Judged, method: str) -> float:
    return result.cells[method].mean * (1 if result.column.higher_is_better else -1)


def _maximises_evidence(described: Mapping[str, Any]) -> bool:
    if described.get("type") == "laplace":
        return not described.get("prior_precisions")
    return described.get("type") == "neural_linear" and described.get("prior_precision") is None


def _parts(described: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(described, Mapping):
        yield described
        for value in described.values():
            yield from _parts(value)


def _completed(benchmark: Benchmark, method: str) -> list[Record]:
    return [r for r in benchmark.runs[method] if r.outcome.status == "completed"]
