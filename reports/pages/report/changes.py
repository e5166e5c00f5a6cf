"""The changes between two stores: runs, scores, settings, code and costs."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bnnbench.engine.records.record import Record
from bnnbench.metrics import LISTED
from bnnbench.metrics.base import NO_MARGINS, Margins
from bnnbench.metrics.statistics import Samples, holm, mean, replicates
from bnnbench.reports.judge.participants import FEWEST
from bnnbench.reports.judge.statistics.elimination import one_sided
from bnnbench.reports.judge.statistics.intervals import t_interval
from bnnbench.reports.judge.statistics.moderation import LEVEL
from bnnbench.reports.read.facts import provenance_entries
from bnnbench.reports.read.load import Damage
from bnnbench.reports.read.overlap import overlap_of
from bnnbench.reports.style import labels
from bnnbench.reports.style.descriptions import flatten

Place = tuple[str, str, str, str, str]
"""suite, profile, data set, origin, method"""


@dataclass(frozen=True)
class Change:
    """One score of one method: its means over the folds and seeds that both stores have."""

    place: Place
    condition: str
    """Title of the test condition."""
    metric: str
    before: float
    after: float
    pairs: int
    different: int
    """The number of pairs that differ at all."""
    p_value: float | None
    """p-value of the paired difference, by Holm over all changed scores; None if not tested."""
    equal_p: float | None = None
    """p-value of a change beyond the margin either way, by Holm; None without a margin."""
    half_width: float | None = None
    """Half of the 95 % interval of the difference."""

    @property
    def difference(self) -> float:
        """The score after minus the score before."""
        return self.after - self.before

    @property
    def verdict(self) -> str:
        """The verdict: practically equal, better, worse, changed, undecided, or not tested."""
        if self.p_value is None:
            return "not tested"
        if self.equal_p is not None and self.equal_p <= LEVEL:
            return "practically equal"
        if self.p_value > LEVEL:
            return "undecided"
        better = LISTED[self.metric].higher_is_better if self.metric in LISTED else None
        return (
            "changed"
            if better is None
            else "better"
            if (self.difference > 0) is better
            else "worse"
        )


@dataclass(frozen=True)
class Setting:
    """A setting of a method, or an entry of provenance, that differs."""

    where: str
    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Cost:
    """Mean fit seconds of a method over the runs that both stores have."""

    place: Place
    before: float
    after: float
    pairs: int

    @property
    def ratio(self) -> float:
        """After over before."""
        return self.after / self.before if self.before > 0 else math.nan


@dataclass(frozen=True)
class Changes:
    """All differences between two stores."""

    names: tuple[str, str]
    runs: tuple[int, int]
    common: int
    """The number of runs (data set, method, fold and seed) that both stores have."""
    same_key: int
    """The number of common runs with equal settings."""
    only: tuple[Mapping[Place, int], Mapping[Place, int]]
    """Counts, by place, of the runs that only one of the stores has."""
    ended: Mapping[tuple[Place, str, str], int]
    """Place, status before and after → the number of such runs."""
    scores: tuple[Change, ...]
    equal_scores: int
    """The number of mean scores that are bitwise equal in every pair."""
    settings: tuple[Setting, ...]
    provenance: tuple[Setting, ...]
    costs: tuple[Cost, ...]
    damage: tuple[Damage, ...] = ()

    @property
    def decided(self) -> tuple[Change, ...]:
        """The scores with a significant change, by more than the margin or without one."""
        return tuple(c for c in self.scores if c.verdict in ("better", "worse", "changed"))


def changes(
    names: tuple[str, str],
    before: Sequence[Record],
    after: Sequence[Record],
    damage: Sequence[Damage] = (),
    margins: Margins = NO_MARGINS,
) -> Changes:
    """Return the changes from the records of one store to those of another.

    Runs form a pair if they agree in suite, profile, data set, origin, method, fold and seed.
    Differences are tested like two methods in a table, by paired variances, and adjusted by Holm
    over all changed scores; so are claims of practical equality, which need both one-sided tests.
    `margins` replace the metrics' own.
    """
    sides = [{_run(r): r for r in records} for records in (before, after)]
    common = [run for run in sides[0] if run in sides[1]]
    pairs = [(sides[0][run], sides[1][run]) for run in sorted(common)]
    only = [
        Counter(run[0] for run in side if run not in opposite)
        for side, opposite in (sides, sides[::-1])
    ]
    endings = Counter(
        (_place(a), a.outcome.status, b.outcome.status)
        for a, b in pairs
        if a.outcome.status != b.outcome.status
    )
    by_place: dict[Place, list[tuple[Record, Record]]] = defaultdict(list)
    for a, b in pairs:
        by_place[_place(a)].append((a, b))
    scores, equal = _scores(by_place, margins)
    return Changes(
        names,
        (len(before), len(after)),
        len(pairs),
        sum(a.key == b.key for a, b in pairs),
        (dict(sorted(only[0].items())), dict(sorted(only[1].items()))),
        dict(sorted(endings.items())),
        scores,
        equal,
        tuple(_settings(by_place)),
        tuple(_provenance([a for a, _ in pairs] or before, [b for _, b in pairs] or after)),
        tuple(_costs(by_place)),
        tuple(damage),
    )


def _place(record: Record) -> Place:
    return record.suite, record.profile, record.dataset, record.circumstances.origin, record.method


def _run(record: Record) -> tuple[Place, int, int]:
    return _place(record), record.fold, record.seed


def _scores(
    by_place: Mapping[Place, Sequence[tuple[Record, Record]]],
    margins: Margins,
) -> tuple[tuple[Change, ...], int]:
    """Return the mean scores that changed, and the number of equal ones."""
    changed: list[Change] = []
    equal = 0
    for place, pairs in by_place.items():
        named = {
            (c, m) for pair in pairs for r in pair for c, s in r.outcome.scores.items() for m in s
        }
        ratio = overlap_of([record for pair in pairs for record in pair])
        for condition, metric in sorted(named):
            old, new = (_samples(pairs, side, condition, metric) for side in (0, 1))
            shared = [run for run in old if run in new]
            different = sum(not _same(old[run], new[run]) for run in shared)
            if not shared:
                continue
            if not different:
                equal += 1
                continue
            was, became = (mean([scores[run] for run in shared]) for scores in (old, new))
            title = str(
                pairs[0][1]
                .circumstances.condition_traits.get(condition, {})
                .get("title", condition)
            )
            change = Change(place, title, metric, was, became, len(shared), different, None)
            real = any(pair[1].circumstances.target for pair in pairs)
            declared = LISTED[metric].margin_for(real) if metric in LISTED else None
            chosen = margins.get(metric, declared)
            margin = chosen and chosen.absolute(was)
            changed.append(_tested(change, old, new, ratio, margin))
    return _adjusted(changed), equal


def _adjusted(changed: Sequence[Change]) -> tuple[Change, ...]:
    """Return the changes with p-values adjusted by Holm, the smallest first."""
    p, equal_p = (
        holm(np.array([math.nan if p is None else p for p in raw], float)).tolist()
        for raw in ([c.p_value for c in changed], [c.equal_p for c in changed])
    )
    adjusted = [
        replace(
            change,
            p_value=None if math.isnan(p_value) else p_value,
            equal_p=None if math.isnan(equal) else equal,
        )
        for change, p_value, equal in zip(changed, p, equal_p, strict=True)
    ]
    return tuple(sorted(adjusted, key=lambda c: (2.0 if c.p_value is None else c.p_value, c.place)))


def _samples(
    pairs: Sequence[tuple[Record, Record]], side: int, condition: str, metric: str
) -> dict[tuple[int, int], float]:
    return {
        (r.fold, r.seed): float(value)
        for pair in pairs
        if (r := pair[side]).outcome.status == "completed"
        and (value := r.outcome.scores.get(condition, {}).get(metric)) is not None
    }


def _tested(
    change: Change, old: Samples, new: Samples, ratio: float | None, margin: float | None
) -> Change:
    """Return the change with its p-values and interval; without them if there are too few pairs."""
    by_fold = len({fold for fold, _ in old}) > 1
    gaps = np.array(replicates({run: new[run] - old[run] for run in old if run in new}, by_fold))
    if len(gaps) < FEWEST or not np.isfinite(gaps).all() or (by_fold and ratio is None):
        return change
    overlap = ratio if by_fold and ratio else 0.0
    error = gaps.var(ddof=1) * (1 / len(gaps) + overlap)
    means = np.array([gaps.mean(), -gaps.mean()])
    terms = np.full(2, error), np.full(2, len(gaps) - 1.0)
    p_value = min(1.0, 2 * float(one_sided(means, *terms).min()))
    equal = None if margin is None else float(one_sided(margin - means, *terms).max())
    interval = t_interval(gaps.tolist(), overlap)
    width = interval and interval.half_width
    return replace(change, p_value=p_value, equal_p=equal, half_width=width)


def _same(first: float, second: float) -> bool:
    return first == second or (math.isnan(first) and math.isnan(second))


def _settings(
    by_place: Mapping[Place, Sequence[tuple[Record, Record]]],
) -> Iterable[Setting]:
    """Return the settings that differ between runs of one name, each once."""
    settings: dict[Setting, None] = {}
    for place, pairs in by_place.items():
        for a, b in pairs:
            if a.key != b.key:
                where = f"{labels.suite(place[0])}, {place[4]}"
                settings |= dict.fromkeys(_differing(where, a.run, b.run))
    return settings


def _differing(
    where: str, before: Mapping[str, object], after: Mapping[str, object]
) -> Iterable[Setting]:
    old, new = flatten(before), flatten(after)
    for name in sorted(old.keys() | new.keys()):
        texts = old.get(name, "absent"), new.get(name, "absent")
        if texts[0] != texts[1]:
            yield Setting(where, name, texts[0], texts[1])


def _provenance(before: Sequence[Record], after: Sequence[Record]) -> Iterable[Setting]:
    """Yield the entries on commit, packages and machine whose values differ within pairs."""
    sides = []
    for records in (before, after):
        values: dict[str, set[str]] = defaultdict(set)
        for record in records:
            for name, text in provenance_entries(record).items():
                values[name].add(text)
        sides.append(values)
    for name in sorted(sides[0].keys() | sides[1].keys()):
        texts = [", ".join(sorted(side.get(name, {"absent"}))) for side in sides]
        if texts[0] != texts[1]:
            yield Setting("", name, texts[0], texts[1])


def _costs(by_place: Mapping[Place, Sequence[tuple[Record, Record]]]) -> Iterable[Cost]:
    for place, pairs in by_place.items():
        timed = [(a.cost.fit_seconds, b.cost.fit_seconds) for a, b in pairs if a.cost and b.cost]
        if timed:
            old, new = (mean([pair[side] for pair in timed]) for side in (0, 1))
            yield Cost(place, old, new, len(timed))
