"""Re-runs compared with their records, relative to the spread of comparable runs."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, variance

from bnnbench.commands.stored_runs.reproduction import Comparison, Reproduction, compare
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.task import RunResult
from bnnbench.engine.store.repetitions import Rerun


def not_rerun(record: Record, reason: str) -> Rerun:
    """Return the line of a run that was not re-run."""
    return Rerun(
        *(record.profile, record.method, record.dataset, record.fold, record.seed, record.key),
        outcome="not repeated",
        reason=reason,
        cpu_of_record=str(record.circumstances.provenance.get("cpu", "")),
    )


def rerun_of(
    record: Record, outcome: RunResult, alike: Sequence[Record], code_sha256: str
) -> Rerun:
    """Return the line of a run that was re-run with the code of this digest.

    `alike` are the runs of the method on the data set, whose spread is the unit of differences.
    """
    comparison = compare(record, None, outcome)
    now = outcome.record.circumstances.provenance
    line = replace(
        not_rerun(record, ""),
        outcome=comparison.verdict,
        code_sha256=code_sha256,
        commit=str(now.get("commit") or ""),
        cpu=str(now.get("cpu", "")),
        finished=str(now.get("finished", "")),
    )
    if outcome.record.outcome.status != record.outcome.status:
        return replace(
            line, reason=f"it {outcome.record.outcome.status}: {outcome.record.outcome.last_line}"
        )
    return _with_farthest(line, comparison, alike)


def _with_farthest(line: Rerun, comparison: Reproduction, alike: Sequence[Record]) -> Rerun:
    """Return the line with the score farthest from the recorded one, if any score differs."""
    spreads = spreads_over_runs(alike)
    distances = {
        result: distance
        for result in comparison.results
        if (distance := _distance(result, spreads.get(result.name))) is not None
    }
    if distances:
        result = max(distances, key=lambda one: distances[one])
        return replace(
            line,
            score=result.name,
            recorded=result.recorded,
            repeated=result.repeated,
            spreads=distances[result],
        )
    others = [result.name for result in comparison.results if result.verdict == "differs"]
    return replace(line, reason=f"other {', '.join(others[:3])}" if others else "")


def spreads_over_runs(alike: Sequence[Record]) -> dict[str, float]:
    """Return score, such as "clean, nll" → its standard deviation over seeds, pooled over folds.

    If each fold has one seed, it is the standard deviation over folds. Scores of only one run are
    left out.
    """
    by_fold: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in alike:
        for condition, scores in record.outcome.scores.items():
            for name, value in scores.items():
                if math.isfinite(value):
                    by_fold[f"{condition}, {name}"][record.fold].append(value)
    spreads = {}
    for name, folds in by_fold.items():
        several = [values for values in folds.values() if len(values) > 1]
        groups = several or [[value for values in folds.values() for value in values]]
        if len(groups[0]) > 1:
            spreads[name] = math.sqrt(fmean(map(variance, groups)))
    return spreads


def _distance(comparison: Comparison, spread: float | None) -> float | None:
    """Return the difference of two scores in spreads; None if they agree or no spread is known."""
    match comparison:
        case Comparison(_, float(recorded), float(repeated), verdict):
            if verdict == "differs" and spread and math.isfinite(recorded - repeated):
                return abs(recorded - repeated) / spread
    return None
