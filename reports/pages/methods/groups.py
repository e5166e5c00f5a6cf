"""Methods and their variants, told by the classes in the records and not by labels."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bnnbench.engine.declare.names import path_of
from bnnbench.methods import METHODS
from bnnbench.methods.card import Family, card_of
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style import labels as style
from bnnbench.reports.style.families import family_of
from bnnbench.reports.style.variants import in_words, method_of


@dataclass(frozen=True)
class Group:
    """A method: its name, its family, and the labels of its variants, the main one first."""

    name: str
    family: Family
    variants: tuple[str, ...]


def groups_of(suites: Mapping[str, Sequence[Benchmark]]) -> list[Group]:
    """Return all methods by name. Labels with one class, or with classes of one name, are one.

    A label that several classes have counts with the class of most of its runs. Classes that are
    not registered as methods, but only for a suite, such as its levels of approximation, are one.
    """
    kinds: dict[str, Counter[str]] = {}
    families: dict[str, Counter[Family]] = {}
    for suite, label, description, runs in _described(suites):
        kind = kind_of_method(description) or (suite if _is_registered(description) else label)
        kinds.setdefault(label, Counter())[kind] += runs
        families.setdefault(label, Counter())[family_of(description)] += runs
    by_kind: dict[str, dict[str, int]] = {}
    for label, counts in kinds.items():
        kind, _ = counts.most_common(1)[0]
        by_kind.setdefault(kind, {})[label] = counts.total()
    by_name: dict[str, dict[str, int]] = {}
    for kind, runs_of in by_kind.items():
        by_name.setdefault(_name(kind, runs_of), {}).update(runs_of)
    groups = [_group(name, runs_of, families) for name, runs_of in by_name.items()]
    return sorted(groups, key=lambda group: group.name.casefold())


def _described(
    suites: Mapping[str, Sequence[Benchmark]],
) -> Iterator[tuple[str, str, object, int]]:
    """Yield suite, label, description and number of runs, benchmark by benchmark."""
    for suite, benchmarks in suites.items():
        for benchmark in benchmarks:
            for label, runs in benchmark.runs.items():
                yield suite, label, runs[0].run.get("method"), len(runs)


def kind_of_method(description: object) -> str:
    """Return the registered name of the method behind a description; "" if there is none.

    A method around another one is a variant of it, as is a mean over its fits, unless the inner one
    is a plain network: a mean over those is an ensemble.
    """
    if not isinstance(description, Mapping):
        return ""
    name = str(description.get("type"))
    for value in description.values():
        inner = value.get("type") if isinstance(value, Mapping) else None
        if inner in METHODS and (card_of(name).around or family_of(value) != "point estimates"):
            return kind_of_method(value)
    return name if name in METHODS else ""


def _is_registered(description: object) -> bool:
    name = str(description.get("type")) if isinstance(description, Mapping) else ""
    return path_of(name) != name


def _name(kind: str, runs_of: Mapping[str, int]) -> str:
    """Return the name that most runs of a class have, or the class's own if there is none."""
    first, *others = style.suite(kind).replace("_", " ").split()
    starts = {label.split()[0].casefold(): label.split()[0] for label in runs_of}
    of_class = style.sentence(" ".join([starts.get(first, first), *others]))
    names: Counter[str] = Counter()
    for label, runs in runs_of.items():
        names[method_of(label)] += runs
    name, runs = names.most_common(1)[0]
    return of_class if of_class in names or 2 * runs < names.total() else name


def _group(name: str, runs_of: Mapping[str, int], families: Mapping[str, Counter[Family]]) -> Group:
    variants = sorted(runs_of, key=lambda label: (in_words(label).count(","), -runs_of[label]))
    counts = sum((families[label] for label in runs_of), Counter[Family]())
    return Group(name, counts.most_common(1)[0][0], tuple(variants))
