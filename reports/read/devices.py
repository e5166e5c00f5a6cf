"""The devices of fits: seconds of a GPU say nothing beside those of processors."""

import math
from collections.abc import Container, Iterable, Mapping

from bnnbench.engine.records.record import Record

PROCESSORS = ("cpu", "unknown", "")


def gpu(record: Record) -> str | None:
    """Return the name of the GPU that carried out the fit; None for processors."""
    name = str(record.provenance.get("device", ""))
    return None if name in PROCESSORS else name


def timed_elsewhere(records: Iterable[Record]) -> Mapping[str, str]:
    """Return the keys of fits on GPUs → the GPU, where other fits ran on processors.

    Their costs are shown, but not set against those of the others. Empty where all ran alike.
    """
    timed = [r for r in records if r.cost and r.status == "completed"]
    on_gpus = {r.key: name for r in timed if (name := gpu(r))}
    return on_gpus if len(on_gpus) < len(timed) else {}


def has_processor_seconds(records: Iterable[Record]) -> bool:
    """Return whether costs are seconds of processors, which all completed fits must have.

    Fits on a GPU cost what the clock says: processors wait for them.
    """
    timed = [r for r in records if r.cost and r.status == "completed"]
    return all(r.cost and r.cost.fit_cpu_seconds is not None and not gpu(r) for r in timed)


def mean_fit_seconds(
    runs: Iterable[Record], of_processors: bool, apart: Container[str]
) -> float | None:
    """Return the mean time of completed fits; None where none took any.

    `apart` are the keys of runs that do not count. Of processors, each time is known
    (`has_processor_seconds`).
    """
    costs = [r.cost for r in runs if r.cost and r.status == "completed" and r.key not in apart]
    times = [(c.fit_cpu_seconds or 0.0) if of_processors else c.fit_seconds for c in costs]
    mean = sum(times) / len(times) if times else 0.0
    return mean if mean > 0 and math.isfinite(mean) else None


def elsewhere_in_words(records: Iterable[Record]) -> str:
    """Return a sentence on the methods whose costs are not compared; "" where there are none."""
    records = list(records)
    apart = timed_elsewhere(records)
    if not apart:
        return ""
    methods = dict.fromkeys(r.method for r in records if r.key in apart)
    devices = dict.fromkeys(apart.values())
    return (
        f"Left out: {', '.join(methods)}, fitted on a GPU ({', '.join(devices)}), whose seconds "
        "say nothing beside those of processors."
    )
