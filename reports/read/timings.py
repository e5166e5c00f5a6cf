"""Sessions of pytest-benchmark: what methods take per example, and what became slower."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Literal

BASE = "adamw"
"""The method that others are compared with, in the same session."""

PHASES = ("fit", "predict")

LEAST = 0.1
"""Changes below this share are none, however steady the timings."""

SPREADS = 3.0
"""Spreads of both sessions beyond which a change is one."""

ENOUGH = 8
"""Timings in common from which on their typical change is taken for that of the machine."""

NORMAL = 1.4826
"""The standard deviation of a normal distribution over its median absolute deviation."""

Verdict = Literal["", "slower", "faster"]


@dataclass(frozen=True)
class Timing:
    """What one benchmark took: the minimum and the median of its rounds, in seconds."""

    name: str
    minimum: float
    median: float
    rounds: int
    told: Mapping[str, Any] = field(default_factory=dict)
    """What the benchmark noted beside."""

    @property
    def spread(self) -> float:
        """How far the median lies above the minimum, as a share of the minimum."""
        return (self.median - self.minimum) / self.minimum

    @property
    def is_of_method(self) -> bool:
        """Whether it tells a method's seconds and for how many examples."""
        examples = self.told.get("examples")
        return (
            isinstance(self.told.get("method"), str)
            and self.told.get("phase") in PHASES
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
    """How many times as long something took as in an earlier session."""

    ratio: float
    verdict: Verdict


@dataclass(frozen=True)
class Changes:
    """What became of every timing that two sessions share."""

    by_name: Mapping[str, Change]
    drift: float
    """The typical ratio, which verdicts leave out; 1 where too few are shared."""
    before: Session
    gone: tuple[str, ...]
    """Benchmarks of the earlier session that the later one lacks."""

    def named(self, verdict: Verdict) -> list[tuple[str, float]]:
        """Return name and ratio of those with a verdict, the largest change first."""
        found = [(n, c.ratio) for n, c in self.by_name.items() if c.verdict == verdict]
        return sorted(found, key=lambda item: -abs(math.log(item[1])))


@dataclass(frozen=True)
class Phase:
    """A method's fit or prediction."""

    timing: Timing
    ratio: float | None
    """To the base's, None where that was not timed."""
    change: Change | None

    @property
    def seconds(self) -> float:
        """For one example."""
        return self.timing.minimum / float(self.timing.told["examples"])

    @property
    def warmup(self) -> float | None:
        """Seconds that the first call took beyond the later ones."""
        value = self.timing.told.get("warmup_seconds")
        return float(value) if isinstance(value, (int, float)) else None


@dataclass(frozen=True)
class Group:
    """All methods on one problem and device."""

    problem: str
    device: str
    rows: Mapping[str, Mapping[str, Phase]]
    """method → phase → what it took, the shortest fits first"""
    absent: tuple[str, ...]
    """Methods that were not timed here."""


def read_session(path: Path) -> Session:
    """Return a session; raises ValueError with the cause and the cure."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        timings = [_timing(one) for one in content["benchmarks"]]
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
            f"{path} is no JSON of pytest-benchmark, or not whole ({error!r}); `make benchmark` "
            "writes it anew"
        ) from error


def changes(now: Session, before: Session) -> Changes:
    """Return what became slower or faster than noise allows.

    A ratio of minima, divided by the median ratio, counts where it differs from 1 by more
    than `LEAST` and than `SPREADS` times the noise: the spreads of both timings together with
    the scatter of all ratios, which tells how much the machine changed its pace in between.
    """
    shared = {name: before.timings[name] for name in now.timings if name in before.timings}
    ratios = {name: now.timings[name].minimum / old.minimum for name, old in shared.items()}
    drift, scatter = _pace(list(ratios.values()))
    found = {}
    for name, old in shared.items():
        noise = SPREADS * math.hypot(old.spread, now.timings[name].spread, scatter)
        found[name] = Change(ratios[name], _verdict(ratios[name] / drift, max(LEAST, noise)))
    gone = tuple(sorted(before.timings.keys() - now.timings.keys()))
    return Changes(found, drift, before, gone)


def groups(session: Session, since: Changes | None, methods: Sequence[str]) -> list[Group]:
    """Return the methods' timings by problem and device; `methods` are all that there are."""
    found: dict[tuple[str, str], dict[str, dict[str, Timing]]] = {}
    for timing in session.timings.values():
        if timing.is_of_method:
            place = str(timing.told.get("problem", "")), str(timing.told.get("device", ""))
            method, phase = str(timing.told["method"]), str(timing.told["phase"])
            found.setdefault(place, {}).setdefault(method, {})[phase] = timing
    return [
        Group(problem, device, _rows(timed, since), tuple(m for m in methods if m not in timed))
        for (problem, device), timed in found.items()
    ]


def others(session: Session) -> list[Timing]:
    """Return the timings that are not of a method's fit or prediction."""
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
    """Return the median ratio and the scatter of the others: a std, by their median deviation."""
    if len(ratios) < ENOUGH:
        return 1.0, 0.0
    drift = median(ratios)
    return drift, NORMAL * median(abs(math.log(ratio / drift)) for ratio in ratios)


def _verdict(ratio: float, noise: float) -> Verdict:
    return "slower" if ratio > 1 + noise else "faster" if ratio < 1 / (1 + noise) else ""


def _timing(one: Mapping[str, Any]) -> Timing:
    stats = one["stats"]
    minimum, middle = float(stats["min"]), float(stats["median"])
    if not 0 < minimum <= middle < math.inf:
        raise ValueError(f"{one['fullname']} took {minimum} to {middle} seconds")
    told = dict(one.get("extra_info") or {})
    return Timing(str(one["fullname"]), minimum, middle, int(stats["rounds"]), told)


def _machine(told: Mapping[str, Any]) -> str:
    cpu = told.get("cpu") or {}
    cores = cpu.get("count")
    parts = [told.get("node"), cpu.get("brand_raw") or told.get("processor")]
    parts += [f"{cores} cores" if cores else None, told.get("system"), told.get("python_version")]
    names = ["", "", "", "", "Python "]
    return ", ".join(f"{n}{p}" for n, p in zip(names, parts, strict=True) if p)
