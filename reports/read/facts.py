"""Data, settings, failures and provenance of the records, summarised over runs."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bnnbench.engine.declare import names
from bnnbench.engine.records.record import Record
from bnnbench.reports.read.benchmarks import Benchmark, has_own_network, network_description
from bnnbench.reports.read.health import findings
from bnnbench.reports.style import labels
from bnnbench.reports.style.descriptions import call, flatten

LONG = 24
"""Facts with more characters than this are listed below the table."""


FACTS = {
    "train_rows": "train rows",
    "test_rows": "test rows",
    "features": "features",
    "classes": "classes",
    "target": "target",
    "target_unit": "unit",
    "target_std": "target std",
    "test_twins_in_train": "twins in train",
    "test_twins": "twins, rows",
    "train_repeats": "repeats in train",
    "constant_columns": "constant columns",
    "largest_input_deviation_train": "largest input, train",
    "largest_input_deviation_test": "largest input, test",
    "download_bytes": "download",
}
"""Fact → its name on pages, in the order of the table; other facts follow."""


@dataclass(frozen=True)
class DataFacts:
    """Facts about a data set; ranges if folds differ."""

    title: str
    origin: str
    conditions: Mapping[str, str]
    """condition → origin of its data"""
    facts: Mapping[str, str]
    findings: tuple[str, ...] = ()
    """Phrases about peculiarities that affect how far scores can be trusted."""
    transforms: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """path → checksum"""

    @property
    def rows(self) -> str:
        """The numbers of training and test rows as text; "" if unknown."""
        train, test = self.facts.get("train rows"), self.facts.get("test rows")
        return f"{train} + {test} rows" if train and test else ""

    @property
    def long(self) -> Mapping[str, str]:
        """The facts that need a line of their own."""
        return {name: text for name, text in self.facts.items() if len(text) > LONG}


@dataclass(frozen=True)
class Failure:
    """Runs of one method on one data set that failed in the same way."""

    method: str
    dataset: str
    """The title of the data set on pages."""
    status: str
    reason: str
    where: str
    details: str


@dataclass(frozen=True)
class Origin:
    """Runs that share commit, versions and machine."""

    runs: int
    entries: Mapping[str, str]


def data_facts(benchmark: Benchmark) -> DataFacts:
    """Return the facts of a benchmark's data."""
    values: dict[str, list[object]] = defaultdict(list)
    distinct: list[Mapping[str, object]] = []
    for facts in (record.circumstances.facts for record in benchmark.records):
        if facts not in distinct:
            distinct.append(facts)
    for name, value in (item for facts in distinct for item in facts.items()):
        if value not in values[name]:
            values[name].append(value)
    transforms = [known for known in values.pop("transforms", []) if isinstance(known, list)]
    checksums = [known for known in values.pop("files", []) if isinstance(known, Mapping)]
    return DataFacts(
        benchmark.title,
        benchmark.origin,
        {c: benchmark.origin_of(c) for c in benchmark.conditions},
        {
            FACTS.get(name, name.replace("_", " ")): _summed_up(
                values[name], FORMATTERS.get(name, plain)
            )
            for name in sorted(values, key=_fact_order)
        },
        tuple(findings(distinct)),
        tuple(dict.fromkeys(str(step) for steps in transforms for step in steps)),
        {str(path): str(checksum) for files in checksums for path, checksum in files.items()},
    )


def failures(records: Sequence[Record]) -> list[Failure]:
    """Return the runs that were not completed, grouped by reason."""
    groups: dict[tuple[str, str, str, str], list[Record]] = defaultdict(list)
    for record in records:
        if record.outcome.status != "completed":
            reason = record.outcome.last_line or "no reason was recorded"
            case = labels.case(record.dataset, record.title)
            groups[record.method, case, record.outcome.status, reason].append(record)
    return [
        Failure(
            *group,
            where=", ".join(f"fold {r.fold} seed {r.seed}" for r in runs),
            details=(runs[0].outcome.error or "").strip(),
        )
        for group, runs in sorted(groups.items())
    ]


def origins(records: Sequence[Record]) -> list[Origin]:
    """Return the distinct commits, versions and machines, each with its runs.

    Packages imported by only some runs' methods are ignored.
    """
    groups: dict[tuple[tuple[str, str], ...], list[Record]] = defaultdict(list)
    for record in records:
        groups[tuple(provenance_entries(record).items())].append(record)
    states: list[tuple[dict[str, str], dict[str, str], list[Record]]] = []
    for entries, runs in sorted(groups.items(), key=lambda item: -len(item[1])):
        others = _without_packages(runs[0])
        for of_others, state, of_state in states:
            if others == of_others and all(state.get(k, v) == v for k, v in entries):
                state |= dict(entries)
                of_state += runs
                break
        else:
            states.append((others, dict(entries), list(runs)))
    listed = []
    for _, state, runs in sorted(states, key=lambda item: -len(item[2])):
        times = sorted(str(r.circumstances.provenance.get("finished", "")) for r in runs)
        span = times[0] if times[0] == times[-1] else f"{times[0]} to {times[-1]}"
        readable = {name.replace("_", " "): state[name] for name in sorted(state)}
        listed.append(Origin(len(runs), readable | ({"finished": span} if times[-1] else {})))
    return listed


def _without_packages(record: Record) -> dict[str, str]:
    return provenance_entries(
        record.with_circumstances(provenance={**record.circumstances.provenance, "packages": {}})
    )


def provenance_entries(record: Record) -> dict[str, str]:
    """Return the commit, versions and machine of a run, but not its time."""
    entries = {
        k: v for k, v in record.circumstances.provenance.items() if k not in ("finished", "chosen")
    }
    text = repr(entries)  # thousands of runs share a provenance
    if text not in _FLAT:
        _FLAT[text] = dict(sorted(flatten(entries).items()))
    return _FLAT[text]


_FLAT: dict[str, dict[str, str]] = {}


def settings(benchmarks: Sequence[Benchmark]) -> dict[str, dict[str, str]]:
    """Return method → setting → value."""
    return {
        method: {"class": _class(runs[0])}
        | flatten(runs[0].run.get("method"))
        | flatten(runs[0].external or {}, "elsewhere")
        | flatten(runs[0].run.get("acquisition", {}), "acquisition")
        for benchmark in benchmarks
        for method, runs in benchmark.runs.items()
    }


def networks(benchmarks: Sequence[Benchmark]) -> dict[str, list[str]]:
    """Return data sets → their network's layers; data sets with the same network share a key.

    A method's custom network is listed with the method.
    """
    users: dict[tuple[str, ...], dict[str, None]] = {}
    for benchmark in benchmarks:
        for method, runs in benchmark.runs.items():
            layers = runs[0].run.get("architecture")
            listed = layers if isinstance(layers, list) else [layers]
            texts = tuple(call(layer) for layer in listed)
            modules = runs[0].run.get("modules", ())
            assert isinstance(modules, (list, tuple))
            texts += tuple(map(_module, modules))
            name = benchmark.title
            if has_own_network(runs[0]):
                arm = benchmark.arms.get(method)
                name = f"{arm.method if arm else method} on {name}"
            if runs[0].outcome.own_network is not None or runs[0].external is not None:
                texts = (network_description(runs[0]),)
            users.setdefault(texts, {})[name] = None
    return {", ".join(names): list(layers) for layers, names in users.items()}


def _module(module: Mapping[str, object]) -> str:
    """Return a short description of a custom network."""
    structure = str(module.get("structure_sha256"))[:12]
    return (
        f"{names.class_name(str(module.get('class')))}: {module.get('parameters')} parameters, "
        f"{module.get('frozen')} of them frozen, structure {structure}"
    )


def _class(record: Record) -> str:
    method = record.run.get("method")
    return str(method.get("type", "")) if isinstance(method, Mapping) else ""


def _fact_order(name: str) -> tuple[int, str]:
    return (list(FACTS).index(name) if name in FACTS else len(FACTS), name)


def _summed_up(values: Sequence[object], text_of: Callable[[object], str]) -> str:
    numbers = [value for value in values if isinstance(value, (int, float))]
    if len(numbers) == len(values) > 1:
        return f"{text_of(min(numbers))} to {text_of(max(numbers))}"
    texts = [text_of(v) for v in values[:3]]
    return "; ".join(texts) + (f"; and {len(values) - 3} more" if len(values) > 3 else "")


def plain(value: object) -> str:
    """Return a fact as printed."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u202f") if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(plain(v) for v in value) if value else "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {plain(v)}" for name, v in value.items())
    return "" if value is None else str(value)


def _percent(value: object) -> str:
    return f"{100 * value:.1f} %" if isinstance(value, (int, float)) else plain(value)


def _size(value: object) -> str:
    if not isinstance(value, (int, float)):
        return plain(value)
    return f"{value / 1e6:,.0f} MB" if value >= 1e7 else f"{value / 1e3:,.0f} kB"


FORMATTERS: Mapping[str, Callable[[object], str]] = {
    "test_twins_in_train": _percent,
    "download_bytes": _size,
}
"""Fact → the function that prints it, if it is not a plain number."""
