"""Facts in the records that bear on comparisons: constants, failures, convergence."""

from collections.abc import Sequence

from bnnbench.engine.records.record import Record


def is_constant(runs: Sequence[Record]) -> bool:
    """Return whether the method declares that its prediction is the same for every input."""
    return any(run.outcome.diagnostics.get("ignores_inputs") == 1 for run in runs)


def unfinished(runs: Sequence[Record]) -> int:
    """Return the number of runs that diverged or failed."""
    return sum(run.outcome.status != "completed" for run in runs)


def unconverged(runs: Sequence[Record]) -> int:
    """Return the number of completed runs that did not converge, by their diagnostics."""
    return sum(r.outcome.status == "completed" and r.outcome.unconverged for r in runs)
