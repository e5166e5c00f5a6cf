"""Marks, diagnostics and costs of a run, compared with those of its re-run.

`compile_seconds` is not compared: whether code is compiled depends on what caches have.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import chain

from bnnbench.engine.records.cost import Cost
from bnnbench.engine.records.record import Record

FACTOR = 10.0
"""Largest ratio of recorded and re-run seconds: machines differ, and others may use them too."""

SHORT_SECONDS = 0.05
"""Added to both times: a first call or a garbage collection adds tenths of a second to any fit."""

SHORT_JOULES = 10.0
"""Added to both energies, as a counter is read a few times per second."""

SMALL_BYTES = 2**26
"""Added to recorded memory, which depends on what the process held before."""

WORK_FACTOR = 1.5
"""Largest ratio of counted work, which depends on no machine."""

TOLERANCE = 0.01
"""Largest relative difference of a diagnostic or of a search's scores, after rounding in a fit."""

MARKS = ("batch_dependence", "not_scored", "unanswered")
"""Fields that mark conditions; their texts may differ between machines."""

FACTS = (
    *("origin", "facts", "target", "condition_origins", "condition_traits", "condition_data"),
    "fitted_sha256",
)
"""Circumstances that follow from the data."""

TIMES = (("fit_seconds", "fit_cpu_seconds"), ("predict_seconds", "predict_cpu_seconds"))
"""Wall-clock and processor seconds."""

MEASURED = ("seconds",)
"""Parts of a search that are measured times."""


def differing(record: Record, repeated: Record) -> list[str]:
    """Return the marks and facts in which a record and its re-run differ."""
    return list(chain(_marks(record, repeated), _facts(record, repeated)))


def _marks(record: Record, repeated: Record) -> Iterator[str]:
    before, now = record.outcome, repeated.outcome
    for name in MARKS:
        marked, again = getattr(before, name), getattr(now, name)
        for condition in sorted(marked.keys() ^ again.keys()):
            yield f"the mark {name} of {condition}"
    for name in sorted(before.diagnostics.keys() | now.diagnostics.keys()):
        if not alike(before.diagnostics.get(name), now.diagnostics.get(name), TOLERANCE):
            yield f"the diagnostic {name}"
    for condition, scores in now.scores.items():
        for name in sorted(scores.keys() - before.scores.get(condition, {}).keys()):
            yield f"{condition}, {name}, of which the record has no score"
    for name in ("acquired", "own_network", "search", "trial_scores"):
        if not alike(getattr(before, name), getattr(now, name), TOLERANCE):
            yield f"its {name}"


def _facts(record: Record, repeated: Record) -> Iterator[str]:
    for name in FACTS:
        one, other = getattr(record.circumstances, name), getattr(repeated.circumstances, name)
        if not alike(one, other, TOLERANCE):
            yield f"its {name}"


def differing_costs(record: Record, repeated: Record) -> list[str]:
    """Return the costs in which a record and its re-run differ by more than the stated factors."""
    before, now = record.cost, repeated.cost
    if before is None or now is None:
        return [] if before is now else ["its cost, of which one is missing"]
    times = (name for pair in TIMES for name in _far(before, now, *pair))
    units = sorted((before.work or {}).keys() | (now.work or {}).keys())
    pairs = {unit: (before.value(unit) or 0.0, now.value(unit) or 0.0) for unit in units}
    work = (unit for unit, pair in pairs.items() if max(pair) > WORK_FACTOR * min(pair))
    memory = FACTOR * (before.peak_bytes + SMALL_BYTES) < now.peak_bytes
    return [
        *(["the cost peak_bytes"] * memory),
        *(f"the cost {name} by more than a factor of {FACTOR:g}" for name in times),
        *_joules(record, repeated),
        *(f"the work {unit} by more than a factor of {WORK_FACTOR:g}" for unit in work),
    ]


def _joules(record: Record, repeated: Record) -> Iterator[str]:
    """Yield the difference of the GPU's energy, which no CPU counts.

    Another machine's GPU may have no counter, and the energy is then not compared.
    """
    before, now = record.cost, repeated.cost
    given, again = before and before.fit_joules, now and now.fit_joules
    if given is None or before is None:
        return
    if again is None and repeated.circumstances.provenance.get("device", "cpu") == "cpu":
        yield "the cost fit_joules, which a CPU does not count"
    elif again is not None and not _near(
        given, again, max(1, before.fitted_together), SHORT_JOULES
    ):
        yield f"the cost fit_joules by more than a factor of {FACTOR:g}"


def _far(before: Cost, now: Cost, wall: str, processor: str) -> Iterator[str]:
    """Yield the recorded times that are not within the factor of the re-run's processor time.

    Wall-clock time depends on the machine's load, but is not less than processor time: it has only
    a lower bound, unless no processor time is known. A fit made together with others may have taken
    less, by their number.
    """
    together = max(1, before.fitted_together) if wall.startswith("fit") else 1
    seconds, again = before.value(processor), now.value(processor)
    known = seconds is not None and again is not None
    if seconds is not None and again is not None and not _near(seconds, again, together):
        yield processor
    seconds, again = before.value(wall), again if known else now.value(wall)
    if seconds is None or again is None:
        return
    if not _near(min(seconds, again) if known else seconds, again, together):
        yield wall


def _near(amount: float, again: float, together: int, little: float = SHORT_SECONDS) -> bool:
    one, other = amount + little / together, again + little
    return one <= FACTOR * other and other <= FACTOR * together * one


def alike(one: object, other: object, tolerance: float) -> bool:
    """Return whether two values of plain data are equal, numbers up to a relative tolerance."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        names = (one.keys() | other.keys()) - set(MEASURED)
        return all(n in one and n in other and alike(one[n], other[n], tolerance) for n in names)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(alike(a, b, tolerance) for a, b in pairs)
    if isinstance(one, float) or isinstance(other, float):
        return _close(one, other, tolerance)
    return one == other


def _close(one: object, other: object, tolerance: float) -> bool:
    if not (isinstance(one, int | float) and isinstance(other, int | float)):
        return False
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=1e-9)
