"""Sessions of pytest-benchmark: the time per example of methods, and its changes."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Literal

from bnnbench.datasets.reading.whole_files import read_regular

BASE = "adamw"
"""The method that others in the same session are compared with."""

PHASES = ("fit", "predict")

LEAST = 0.1
"""Changes below this share are ignored, however stable the timings."""

SPREADS = 3.0
"""A change counts if it exceeds this many times the spread of both sessions."""

ENOUGH = 8
"""With this many common timings, their typical change is attributed to the machine."""

NORMAL = 1.4826
"""The ratio of the standard deviation to the median absolute deviation of a normal."""

Verdict = Literal["", "slower", "faster"]


@dataclass(frozen=True)
class Timing:
    """The time of one benchmark: the minimum and the median of its rounds, in seconds."""

    name: str
    minimum: float
    median: float
    rounds: int
    notes: Mapping[str, Any] = field(default_factory=dict)
    """Additional information recorded by the benchmark."""

    @property
    def spread(self) -> float:
        """The distance from the minimum to the median, as a share of the minimum."""
        return (self.median - self.minimum) / self.minimum

    @property
    def is_of_method(self) -> bool:
        """True for the time of a method on a known number of examples."""
        examples = self.notes.get("examples")
        return (
            isinstance(self.notes.get("method"), str)
            and self.notes.get("phase") in PHASES
            and isinstance(examples, int)
            and examples > 0
        )


@dataclass(frozen=True)
class Session:
    """One run of the benchmarks on one machine."""

    machine: str
    taken: str
    commit: str
    timings: Mapping[str, Timing]


@dataclass(frozen=True)
class Change:
    """The ratio of a timing to its earlier value, with a verdict."""

    ratio: float
    verdict: Verdict


@dataclass(frozen=True)
class Changes:
    """The changes of all timings that two sessions share."""

    by_name: Mapping[str, Change]
    drift: float
    """The typical ratio, by which verdicts divide; 1 if too few timings are shared."""
    before: Session
    gone: tuple[str, ...]
    """Benchmarks of the earlier session that the later one lacks."""

    def with_verdict(self, verdict: Verdict) -> list[tuple[str, float]]:
        """Return name and ratio of the timings with this verdict, the largest change first."""
        ratios = [(n, c.ratio) for n, c in self.by_name.items() if c.verdict == verdict]
        return sorted(ratios, key=lambda item: -abs(math.log(item[1])))


@dataclass(frozen=True)
class Phase:
    """A method's fit or prediction."""

    timing: Timing
    ratio: float | None
    """The ratio to the base's time; None if the base was not timed."""
    change: Change | None

    @property
    def seconds(self) -> float:
        """The seconds per example."""
        return self.timing.minimum / float(self.timing.notes["examples"])

    @property
    def warmup(self) -> float | None:
        """The additional seconds of the first call."""
        value = self.timing.notes.get("warmup_seconds")
        return float(value) if isinstance(value, (int, float)) else None


@dataclass(frozen=True)
class Group:
    """All methods on one problem and device."""

    problem: str
    device: str
    rows: Mapping[str, Mapping[str, Phase]]
    """method → phase → its time, the shortest fits first"""
    absent: tuple[str, ...]
    """Methods without a timing here."""


def read_session(path: Path) -> Session:
    """Return a session. Raises ValueError with the cause and the remedy."""
    try:
        content = json.loads(read_regular(path).decode())
        timings = [_timing(entry) for entry in content["benchmarks"]]
        return Session(
            _machine(content.get("machine_info") or {}),
            str(content.get("datetime", ""))[:16].replace("T", " "),
            str((content.get("commit_info") or {}).get("id") or ""),
            {timing.name: timing for timing in timings},
        )
    except OSError as error:
        raise ValueError(
            f"cannot read {path}: {error.strerror}; `make benchmark` writes it"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path} is not a complete JSON file of pytest-benchmark ({error!r}); "
            "`make benchmark` writes a new one"
        ) from error


def changes(now: Session, before: Session) -> Changes:
    """Return the changes between two sessions, with verdicts on those that exceed the noise.

    A ratio of minima, divided by the median ratio, counts if it differs from 1 by more than
    `LEAST` and by more than `SPREADS` times the noise. The noise combines the spreads of both
    timings with the scatter of all ratios, which shows how much the machine's speed varied.
    """
    shared = {name: before.timings[name] for name in now.timings if name in before.timings}
    ratios = {name: now.timings[name].minimum / old.minimum for name, old in shared.items()}
    drift, scatter = _pace(list(ratios.values()))
    by_name = {}
    for name, old in shared.items():
        noise = SPREADS * math.hypot(old.spread, now.timings[name].spread, scatter)
        by_name[name] = Change(ratios[name], _verdict(ratios[name] / drift, max(LEAST, noise)))
    gone = tuple(sorted(before.timings.keys() - now.timings.keys()))
    return Changes(by_name, drift, before, gone)


def groups(session: Session, since: Changes | None, methods: Sequence[str]) -> list[Group]:
    """Return the methods' timings by problem and device; `methods` are all registered ones."""
    by_place: dict[tuple[str, str], dict[str, dict[str, Timing]]] = {}
    for timing in session.timings.values():
        if timing.is_of_method:
            place = str(timing.notes.get("problem", "")), str(timing.notes.get("device", ""))
            method, phase = str(timing.notes["method"]), str(timing.notes["phase"])
            by_place.setdefault(place, {}).setdefault(method, {})[phase] = timing
    return [
        Group(problem, device, _rows(timed, since), tuple(m for m in methods if m not in timed))
        for (problem, device), timed in by_place.items()
    ]


def others(session: Session) -> list[Timing]:
    """Return the timings other than those of a method's fit or prediction."""
    return [timing for timing in session.timings.values() if not timing.is_of_method]


def _rows(
    timed: Mapping[str, Mapping[str, Timing]], since: Changes | None
) -> dict[str, dict[str, Phase]]:
    rows = {}
    for method, phases in timed.items():
        rows[method] = {}
        for name, timing in phases.items():
            base = timed.get(BASE, {}).get(name)
            ratio = None
            if base is not None:
                ratio = Phase(timing, None, None).seconds / Phase(base, None, None).seconds
            change = since.by_name.get(timing.name) if since else None
            rows[method][name] = Phase(timing, ratio, change)
    shortest = {m: min(phase.seconds for phase in phases.values()) for m, phases in rows.items()}
    order = {m: p["fit"].seconds if "fit" in p else shortest[m] for m, p in rows.items()}
    return dict(sorted(rows.items(), key=lambda item: order[item[0]]))


def _pace(ratios: Sequence[float]) -> tuple[float, float]:
    """Return the median ratio, and the standard deviation estimated from absolute deviations."""
    if len(ratios) < ENOUGH:
        return 1.0, 0.0
    drift = median(ratios)
    return drift, NORMAL * median(abs(math.log(ratio / drift)) for ratio in ratios)


def _verdict(ratio: float, noise: float) -> Verdict:
    return "slower" if ratio > 1 + noise else "faster" if ratio < 1 / (1 + noise) else ""


def _timing(entry: Mapping[str, Any]) -> Timing:
    stats = entry["stats"]
    minimum, middle = float(stats["min"]), float(stats["median"])
    if not 0 < minimum <= middle < math.inf:
        raise ValueError(f"{entry['fullname']} took {minimum} to {middle} seconds")
    notes = dict(entry.get("extra_info") or {})
    return Timing(str(entry["fullname"]), minimum, middle, int(stats["rounds"]), notes)


def _machine(info: Mapping[str, Any]) -> str:
    cpu = info.get("cpu") or {}
    cores = cpu.get("count")
    parts = [info.get("node"), cpu.get("brand_raw") or info.get("processor")]
    parts += [f"{cores} cores" if cores else None, info.get("system"), info.get("python_version")]
    names = ["", "", "", "", "Python "]
    return ", ".join(f"{n}{p}" for n, p in zip(names, parts, strict=True) if p)
