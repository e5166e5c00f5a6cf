"""The decision on treatments of a trained network: one that is worth its cost.

A treatment is named only if the given network is shown to be worse. It is the one that is cheapest
in prediction among the best and those that are practically equal to it; of several that cost about
as much, it is the best. One whose prior precision maximises the evidence is not named if one that
was chosen by calibration rows is better: the evidence of a network that fits its training rows
closely is misleading.
"""

import math
from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any

from bnnbench.engine.declare.names import names_in
from bnnbench.engine.records.record import Record
from bnnbench.reports.judge.conclusion import MOST_NAMES, clause
from bnnbench.reports.judge.decision import State
from bnnbench.reports.judge.measures import Judged
from bnnbench.reports.judge.sentences import evidence
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style.numbers import duration, number
from bnnbench.reports.style.words import joined, quoted

GIVEN = "given"
"""Registered name of the trained network as it is."""
VARIANCES = "mean_and_log_variance"
"""Registered name of the last layer of a network that gives variances."""
CHOOSERS = frozenset({"tempered", "rescaled", "conformal", "tuned", "guarded"})
"""Registered names of methods that choose by calibration rows."""
EVIDENCE, CALIBRATION, SEEN_ROWS = "evidence", "calibration rows", "training rows *"
SEEN = "train"
"""Name of the training rows in place of calibration rows."""
AS_GOOD: tuple[State, ...] = ("best", "leads", "equal")
"""States of treatments that may be named."""
ALIKE, NEGLIGIBLE = 2.0, 0.1
"""Predictions cost as much as the cheapest up to this factor, and this number of seconds."""


def treatment_decision(result: Judged) -> str:
    """Return the sentence that names a treatment, its gain and its costs, or says why none is.

    "" without a network that is compared with others.
    """
    given = given_network(result.benchmark)
    if given is None or given not in result.cells:
        return ""
    standing = result.decision.standings.get(given)
    if standing is None or standing.state == "not eligible":
        return ""
    if len(result.decision.candidates) < 2:
        return ""
    if not result.decision.question:
        return _undecided(result)
    if standing.state != "worse":
        return _left(result, standing.state)
    rivals = [m for m in result.cells if _is_rival(result, m, given)]
    if not rivals:
        return ""
    seconds = {m: predict_seconds(result.benchmark, m) for m in rivals}
    most = ALIKE * min(seconds.values()) + NEGLIGIBLE
    cheap = [m for m in rivals if seconds[m] <= most]
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
    return fmean(costs) if costs else math.inf


def method_of(record: Record) -> Mapping[str, Any]:
    """Return the description of a run's method; empty without one."""
    described = record.run.get("method")
    return described if isinstance(described, Mapping) else {}


def _left(result: Judged, state: State) -> str:
    """Return the sentence on a network that no treatment is shown to improve."""
    tested = f"by {result.name} with {evidence(result.column)}"
    if state == "best":
        return f"Leave the network as it is: no treatment is better {tested}."
    if state == "equal":
        best = joined([quoted(leader) for leader in result.decision.leaders])
        return f"Leave the network as it is: it is practically equal to the best, {best}, {tested}."
    return _undecided(result)


def _undecided(result: Judged) -> str:
    return f"Leave the network as it is until more is known: by {result.name}, {clause(result)}."


def _is_rival(result: Judged, method: str, given: str) -> bool:
    """Return whether a treatment may be named in place of the given network."""
    is_good = result.decision.standings[method].state in AS_GOOD
    return (
        is_good and _merit(result, method) > _merit(result, given) and not _outdone(result, method)
    )


def _sentence(result: Judged, named: str, given: str) -> str:
    column = result.column
    after, before = (
        number(result.cells[m].mean * column.scale, column.decimals) for m in (named, given)
    )
    doubt = ", chosen by rows that the network has seen," if by_seen_rows(result.benchmark) else ""
    return (
        f"Take {quoted(named)}{doubt}: {result.name} {after}, against {before} of the given "
        f"network, which is worse with {evidence(column)}{_beside(result, named)}"
        f"{_costs(result.benchmark, named, given)}."
    )


def _beside(result: Judged, named: str) -> str:
    """Return clauses on the best treatment, if another is named, and on undecided ones."""
    decision = result.decision
    best = joined([quoted(leader) for leader in decision.leaders])
    equal = "" if named in decision.leaders else f"; it is practically equal to the best, {best}"
    undecided = joined([quoted(method) for method in decision.named("undecided")], MOST_NAMES)
    return equal + (f"; {undecided} cannot be told from the best" if undecided else "")


def _costs(benchmark: Benchmark, named: str, given: str) -> str:
    """Return the clause on costs; "" if they are unknown."""
    fits = [r.cost.fit_seconds for r in _completed(benchmark, named) if r.cost]
    if not fits:
        return ""
    fit = f", for a fit of {duration(fmean(fits))}"
    seconds, base = predict_seconds(benchmark, named), predict_seconds(benchmark, given)
    if not 0 < base < math.inf:
        return fit
    return f"{fit} and predictions that take {seconds / base:.2g} times as long"


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
