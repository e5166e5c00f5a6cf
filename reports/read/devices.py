"""The devices of fits: GPU seconds are not comparable with processor seconds."""

import math
from collections.abc import Container, Iterable, Mapping

from bnnbench.engine.records.record import Record

PROCESSORS = ("cpu", "unknown", "")


def gpu(record: Record) -> str | None:
    """Return the name of the GPU that ran the fit; None for processors."""
    name = str(record.circumstances.provenance.get("device", ""))
    return None if name in PROCESSORS else name


def timed_elsewhere(records: Iterable[Record]) -> Mapping[str, str]:
    """Return the keys of fits on GPUs → the GPU, if other fits ran on processors.

    Their costs are shown, but not compared with the others. Empty if all fits ran on one kind.
    """
    timed = [r for r in records if r.cost and r.outcome.status == "completed"]
    on_gpus = {r.key: name for r in timed if (name := gpu(r))}
    return on_gpus if len(on_gpus) < len(timed) else {}


def has_processor_seconds(records: Iterable[Record]) -> bool:
    """Return whether costs are processor seconds, which requires them for all completed fits.

    Fits on a GPU cost wall time, since the processor waits for it.
    """
    timed = [r for r in records if r.cost and r.outcome.status == "completed"]
    return all(r.cost and r.cost.fit_cpu_seconds is not None and not gpu(r) for r in timed)


def mean_fit_seconds(
    runs: Iterable[Record], of_processors: bool, apart: Container[str]
) -> float | None:
    """Return the mean time of completed fits; None if no fit took any.

    The runs whose keys are in `apart` do not count. With `of_processors`, each fit's processor time
    must be known (`has_processor_seconds`).
    """
    costs = [
        r.cost for r in runs if r.cost and r.outcome.status == "completed" and r.key not in apart
    ]
    times = [(c.fit_cpu_seconds or 0.0) if of_processors else c.fit_seconds for c in costs]
    mean = sum(times) / len(times) if times else 0.0
    return mean if mean > 0 and math.isfinite(mean) else None


def elsewhere_in_words(records: Iterable[Record]) -> str:
    """Return a sentence on the methods whose costs are not compared; "" if there are none."""
    records = list(records)
    apart = timed_elsewhere(records)
    if not apart:
        return ""
    methods = dict.fromkeys(r.method for r in records if r.key in apart)
    devices = dict.fromkeys(apart.values())
    return (
        f"Left out: {', '.join(methods)}, fitted on a GPU ({', '.join(devices)}): GPU seconds "
        "are not comparable with processor seconds."
    )
