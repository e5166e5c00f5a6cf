"""The pages of runs: each run's settings, scores, diagnostics, provenance and error."""

import contextlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from bnnbench.datasets.conditions.traits import Traits
from bnnbench.engine.records.cost import COSTS
from bnnbench.engine.records.record import Record
from bnnbench.reports.judge.columns import score_column
from bnnbench.reports.judge.measures import main_metrics
from bnnbench.reports.pages.drilldown.columns import column_of, method_runs
from bnnbench.reports.pages.layout import LIMIT, PageTooLarge, embedded, page, slugs
from bnnbench.reports.read.benchmarks import Benchmark, has_own_network, network_description
from bnnbench.reports.read.chosen_settings import chosen_settings
from bnnbench.reports.read.load import LONGEST_MESSAGE
from bnnbench.reports.style import labels
from bnnbench.reports.style.descriptions import call, flatten
from bnnbench.reports.style.families import family_of
from bnnbench.reports.style.words import counted, joined

Place = tuple[str, tuple[str, ...]]
"""A suite, and the identity of one of its benchmarks."""
RunPages = Mapping[Place, str]
"""Benchmark → the address of the page of its runs."""

NO_PAGES: RunPages = {}

KEY_DIGITS = 8
"""Characters of a key by which a page identifies the runs on neighbouring pages."""

MOST_BYTES_OF_A_NEIGHBOUR = 200
"""Size on a page of another page's address, with a method's name and range of keys."""

LONGEST_LINE = 200
"""Maximum number of characters of the reason shown next to a failed run."""

MOST_FAILURES = 12
"""Maximum number of incomplete runs named above the table."""

ORIGINS = {"subset": "a subset of the original data"}
"""Origin of data → its name in running text, if "subset data" would be wrong."""

Plain = dict[str, Any]


def run_addresses(suites: Mapping[str, Sequence[Benchmark]]) -> dict[Place, str]:
    """Return the address of the page of each benchmark's runs, from suite → its benchmarks."""
    names: dict[Place, str] = {}
    taken: Counter[str] = Counter()
    for suite, benchmarks in suites.items():
        for b in benchmarks:
            name = " ".join(filter(None, (suite, b.profile, b.dataset, b.setting)))
            taken[name] += 1
            names[suite, b.identity] = name if taken[name] == 1 else f"{name} {taken[name]}"
    of_names = slugs(list(names.values()))
    return {place: f"runs/{of_names[name]}.html" for place, name in names.items()}


def run_pages(
    suite: str, benchmark: Benchmark, address: str, common: Plain, examples: str = ""
) -> dict[str, str]:
    """Return address → page of a benchmark's runs: one, or several if it would be too large.

    `examples` is the address of its page of examples; "" if absent.
    """
    whole = run_data(benchmark)
    with contextlib.suppress(PageTooLarge):
        return {address: _page(suite, benchmark, address, whole, common, examples, LIMIT)}
    empty = _page(suite, benchmark, address, whole | {"methods": []}, common, examples)
    neighbours = _size(embedded(_neighbour("", benchmark.runs)))
    more = _size(embedded(whole)) // LIMIT * MOST_BYTES_OF_A_NEIGHBOUR
    parts = list(_parts(benchmark, max(LIMIT - _size(empty) - neighbours - more, LIMIT // 4)))
    path = PurePosixPath(address)
    more = (str(path.with_suffix(f".{k}.html")) for k in range(2, len(parts) + 1))
    addresses = [address, *more]
    all_parts = dict(zip(addresses, parts, strict=True))
    return {
        part_address: _page(
            *(suite, benchmark, part_address),
            whole
            | _methods(part)
            | {"neighbours": [_neighbour(a, p) for a, p in all_parts.items() if a != part_address]},
            common,
            examples,
        )
        for part_address, part in all_parts.items()
    }


def run_data(benchmark: Benchmark) -> Plain:
    """Return the data that a page's script shows for the runs of a benchmark."""
    scored = {
        m for r in benchmark.records for by_metric in r.outcome.scores.values() for m in by_metric
    }
    columns = {metric: score_column(benchmark, metric) for metric in sorted(scored, key=_order)}
    return _methods(benchmark.runs) | {
        "conditions": {
            name: traits.title
            for name, traits in sorted(benchmark.traits.items(), key=lambda item: _place(*item))
        },
        "metrics": {m: [c.heading, c.unit, c.scale] for m, c in columns.items()},
        "shown": [[_condition(benchmark, m), m] for m in main_metrics([benchmark])],
        "costs": {name: labels.metric(name) for name in COSTS},
        "neighbours": [],
    }


def _methods(runs_of: Mapping[str, Sequence[Record]]) -> Plain:
    """Return the methods' columns of runs, and the different provenances to which they refer."""
    origins: dict[str, int] = {}
    methods = [_method(method, runs, origins) for method, runs in runs_of.items()]
    return {"methods": methods, "origins": [json.loads(text) for text in origins]}


def _method(method: str, runs: Sequence[Record], origins: dict[str, int]) -> Plain:
    """Return a method's settings and the columns of its runs."""
    first = runs[0]
    scores = {
        (c, m): None for r in runs for c, by_metric in r.outcome.scores.items() for m in by_metric
    }
    by_condition: dict[str, dict[str, object]] = {}
    for condition, metric in scores:
        values = [r.outcome.scores.get(condition, {}).get(metric) for r in runs]
        by_condition.setdefault(condition, {})[metric] = column_of(values)
    remarks = {i: of_run for i, r in enumerate(runs) if (of_run := _remarks(r))}
    return {
        "name": method,
        "family": family_of(first.run.get("method")),
        "settings": _settings(first),
        "network": _network(first),
        "scores": by_condition,
        "diagnostics": {
            name: column_of([r.outcome.diagnostics.get(name) for r in runs])
            for name in sorted({name for r in runs for name in r.outcome.diagnostics})
        },
        "remarks": remarks,
    } | method_runs(runs, origins, LONGEST_MESSAGE)


def _settings(record: Record) -> list[list[object]]:
    """Return path, value, and whether it differs from the default (None: unknown), for a run."""
    chosen = [[s.path, s.value, s.differs] for s in chosen_settings(record.run.get("method"))]
    others = {"acquisition": record.run.get("acquisition"), "elsewhere": record.external}
    flat = [flatten(settings, name).items() for name, settings in others.items() if settings]
    return [*chosen, *([path, value, None] for of in flat for path, value in of)]


def _network(record: Record) -> str:
    """Return the layers of a run's network; "" if unknown."""
    if record.outcome.own_network is not None or record.external is not None:
        return network_description(record)
    layers = record.run.get("architecture")
    listed = layers if isinstance(layers, list) else [layers] if layers else []
    suffix = ", a custom network" * has_own_network(record)
    return f"{', '.join(call(layer) for layer in listed)}{suffix}" if listed else ""


def _remarks(record: Record) -> list[str]:
    """Return further remarks on a run: where it failed, and scores that are missing."""
    where = [f"raised at {record.outcome.failed_at}"] if record.outcome.failed_at else []
    reasons = [f"not scored, {c}: {why}" for c, why in record.outcome.not_scored.items()]
    lacking: dict[tuple[str, str], list[str]] = {}
    for condition, by_metric in record.outcome.unanswered.items():
        for metric, why in by_metric.items():
            lacking.setdefault((condition, why), []).append(labels.in_text(metric))
    unanswered = [
        f"no {joined(names, last='or')}, {c}: {why}" for (c, why), names in lacking.items()
    ]
    unsteady = [f"predictions, {c}: {why}" for c, why in record.outcome.batch_dependence.items()]
    shared = ["ran in a process that third-party methods share (--in-process)"]
    in_process = shared if record.circumstances.provenance.get("in_process") else []
    confined = ["ran in a sandbox, without data files and network (--sandbox)"]
    sandbox = confined if record.circumstances.provenance.get("sandbox") else []
    return [*where, *reasons, *unanswered, *unsteady, *in_process, *sandbox]


def _place(name: str, traits: Traits) -> tuple[object, ...]:
    """Return a key that sorts clean data first, and conditions of a family by their size."""
    family = traits.family.title if traits.family else ""
    after = -1 if traits.acquisitions is None else traits.acquisitions
    size = math.inf if traits.size is None else traits.size
    return not traits.clean, after, family, size, traits.order, name


def _order(metric: str) -> tuple[int, str]:
    known = list(labels.METRICS)
    return known.index(metric) if metric in known else len(known), metric


def _condition(benchmark: Benchmark, metric: str) -> str:
    """Return the condition whose score is shown in the list of runs."""
    records = benchmark.records
    scored = [
        c for c in benchmark.traits if any(metric in r.outcome.scores.get(c, {}) for r in records)
    ]
    return benchmark.main if benchmark.main in scored else scored[-1]


def _parts(benchmark: Benchmark, room: int) -> Iterator[dict[str, Sequence[Record]]]:
    """Yield the runs in portions that fit, method by method; a large method in several."""
    part: dict[str, Sequence[Record]] = {}
    left = room
    fitting = [(m, few) for m, runs in benchmark.runs.items() for few in _fitting(m, runs, room)]
    for method, runs in fitting:
        size = _size(embedded(_method(method, runs, {})))
        if part and (size > left or method in part):
            yield part
            part, left = {}, room
        part[method] = runs
        left -= size + 1
    yield part


def _fitting(method: str, runs: Sequence[Record], room: int) -> Iterator[Sequence[Record]]:
    """Yield a method's runs together, or divided by key, by repeated halving until they fit."""
    if len(runs) < 2 or _size(embedded(_method(method, runs, {}))) <= room:
        yield runs
        return
    by_key, half = sorted(runs, key=lambda run: run.key), len(runs) // 2
    for part in (by_key[:half], by_key[half:]):
        yield from _fitting(method, sorted(part, key=lambda run: (run.fold, run.seed)), room)


def _neighbour(address: str, runs_of: Mapping[str, Sequence[Record]]) -> Plain:
    """Return the address of a page, and the first and last key of each method's runs on it."""
    ranges: list[tuple[str, str, str]] = []
    for method, runs in runs_of.items():
        keys = sorted(run.key[:KEY_DIGITS] for run in runs)
        ranges.append((method, keys[0], keys[-1]))
    return {"address": PurePosixPath(address).name, "methods": ranges}


def _size(text: str) -> int:
    return len(text.encode())


def _page(
    suite: str,
    benchmark: Benchmark,
    address: str,
    data: Plain,
    common: Plain,
    examples: str,
    most_bytes: float = math.inf,
) -> str:
    records = benchmark.records
    failed = [r for r in records if r.outcome.status != "completed"]
    completed = f"{len(records) - len(failed)} of {counted(len(records), 'run')}"
    slug_of = dict(common["methodPages"])
    by_key = {r.key: method for method, runs in benchmark.runs.items() for r in runs}
    return page(
        *("runs.html", address, f"Runs on {benchmark.title} · bnnbench", "Suites", data | common),
        most_bytes=most_bytes,
        heading=benchmark.title,
        suite=suite,
        suite_title=labels.suite(suite),
        profile=labels.profile(benchmark.profile),
        origin=benchmark.origin,
        examples=examples,
        on_data=ORIGINS.get(benchmark.origin, f"{benchmark.origin} data"),
        counts=f"{completed} of {counted(len(benchmark.runs), 'method')} completed",
        failed=[
            (
                f"method={slug_of.get(by_key[r.key], '')}&run={r.key[:KEY_DIGITS]}",
                by_key[r.key],
                r.fold,
                r.seed,
                r.outcome.status,
                r.outcome.last_line[:LONGEST_LINE],
            )
            for r in failed[:MOST_FAILURES]
        ],
        more_failed=max(len(failed) - MOST_FAILURES, 0),
    )
