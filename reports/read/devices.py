"""The devices of fits: seconds of a GPU say nothing beside those of processors."""

from collections.abc import Iterable, Mapping

from bnnbench.suites.engine.store.record import Record

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
