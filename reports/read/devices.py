"""The processors and GPUs of fits: seconds on different ones are not comparable."""

import math
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

from bnnbench.engine.records.record import Record

PROCESSORS = ("cpu", "unknown", "")


def gpu(record: Record) -> str | None:
    """Return the name of the GPU that ran the fit; None for processors."""
    name = str(record.circumstances.provenance.get("device", ""))
    return None if name in PROCESSORS else name


def devices(records: Iterable[Record]) -> Mapping[str, str]:
    """Return the keys of timed fits → the GPU or the exact processor.

    A record that does not state the exact model, as earlier ones, counts as the most frequent model
    of its name.
    """
    timed = [r for r in records if r.cost and r.outcome.status == "completed"]
    models: dict[str, Counter[str]] = {}
    for record in timed:
        name, model = _name(record), _model(record)
        models.setdefault(name, Counter()).update([model] if model else [])
    return {r.key: _exact(_name(r), _model(r), models[_name(r)]) for r in timed}


def _name(record: Record) -> str:
    stated = str(record.circumstances.provenance.get("cpu", ""))
    return gpu(record) or stated or "a processor that is not recorded"


def _model(record: Record) -> str:
    stated = str(record.circumstances.provenance.get("cpu_model", ""))
    return "" if gpu(record) else stated


def _exact(name: str, model: str, models: Counter[str]) -> str:
    """Return the name, with the model if several have this name."""
    if len(models) < 2:
        return name
    return f"{name} ({model or models.most_common(1)[0][0]})"


def by_frequency(records: Sequence[Record]) -> list[str]:
    """Return the processors of timed fits, the most frequent first, and then the GPUs."""
    device, counts = devices(records), Counter(devices(records).values())
    on_gpus = {device[r.key] for r in records if r.key in device and gpu(r)}
    return sorted(counts, key=lambda name: (name in on_gpus, -counts[name], name))


def timed_elsewhere(records: Iterable[Record]) -> Mapping[str, str]:
    """Return the keys of fits that were timed on another device than most → that device.

    Their costs are shown, but not compared with the others. If any fits ran on processors, fits on
    a GPU are such fits.
    """
    records = list(records)
    first = by_frequency(records)[:1]
    return {key: name for key, name in devices(records).items() if name not in first}


def has_processor_seconds(records: Iterable[Record]) -> bool:
    """Return whether costs are processor seconds, which requires them for all completed fits.

    Fits on a GPU cost wall time, since the processor waits for it.
    """
    timed = [r for r in records if r.cost and r.outcome.status == "completed"]
    return all(r.cost and r.cost.fit_cpu_seconds is not None and not gpu(r) for r in timed)


def comparable_times(records: Iterable[Record]) -> tuple[bool, Mapping[str, str]]:
    """Return the last two arguments of `mean_fit_seconds`, for costs that are compared."""
    records = list(records)
    apart = timed_elsewhere(records)
    return has_processor_seconds(r for r in records if r.key not in apart), apart


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
    """Return sentences on the fits whose costs are not compared; "" if there are none."""
    records = list(records)
    on_gpus = {r.key for r in records if gpu(r)}
    apart = timed_elsewhere(records)
    groups = (
        ("on a GPU", "GPU seconds are not comparable with processor seconds.", True),
        ("on another processor", "seconds on different processors are not comparable.", False),
    )
    sentences = []
    for where, reason, is_gpu in groups:
        keys = {key: name for key, name in apart.items() if (key in on_gpus) is is_gpu}
        methods = ", ".join(dict.fromkeys(r.method for r in records if r.key in keys))
        names = "; ".join(dict.fromkeys(keys.values()))
        if keys:
            sentences.append(f"Left out: {methods}, fitted {where} ({names}): {reason}")
    return " ".join(sentences)
